# SPDX-License-Identifier: Apache-2.0
# Prints "FILE:LINE MESSAGE" for each TRY that try.sh forbids, in the files of its arguments.
use strict;
use warnings;
require 'code.pl';

# What a "{" opens, from the code of its statement before it: "initializer", "lambda", or "block", which is
# anything that ends the statement.
sub kind_of_brace {
  my ($before, $enclosing) = @_;
  $before =~ s/\s+$//;
  return $enclosing eq 'initializer' ? 'initializer' : 'block' if $before eq '';
  return 'lambda' if $before =~ /(?:^|[=(,&|?:!{]|\breturn)\s*\[[^\[\]]*\]\s*(?:\([^{}]*\))?[^(){}]*$/;
  return 'block' if $before =~ /(?::|\belse|\bdo|\btry)$/;
  return 'block' if $before =~ /\)\s*(?:(?:const|noexcept|override|final|&+)\s*)*(?:->[^(){}]*)?$/;
  return 'block' if $before =~ /\b(?:namespace|struct|class|union|enum|extern)\b[^=()]*$/;
  return 'initializer';
}

sub check {
  my ($file) = @_;
  open(my $in, '<', $file) or die "$file: $!";
  my $code = code_of(do { local $/; <$in> });
  my $line = 1;
  my @scopes = ({ kind => 'block', tries => 0, before => '' });
  while ($code =~ /\G(\bTRY(?:_CTX)?\b|\w+|.)/gs) {
    my $token = $1;
    my $scope = $scopes[-1];
    $line++ if $token eq "\n";
    if ($token =~ /^TRY/) {
      print "$file:$line TRY in a braced initializer\n" if $scope->{kind} eq 'initializer';
      print "$file:$line a second TRY in one expression\n" if $scope->{tries}++;
    }
    if ($token eq '{') {
      my $kind = kind_of_brace($scope->{before}, $scope->{kind});
      my $tries = $kind eq 'initializer' ? $scope->{tries} : 0;
      push @scopes, { kind => $kind, tries => $tries, before => '' };
    } elsif ($token eq '}' && @scopes > 1) {
      pop @scopes;
      $scopes[-1]{tries} = $scope->{tries} if $scope->{kind} eq 'initializer';
      $scopes[-1]{before} .= '{}';
      @{ $scopes[-1] }{qw(tries before)} = (0, '') if $scope->{kind} eq 'block';
    } elsif ($token eq ';') {
      @{$scope}{qw(tries before)} = (0, '');
    } else {
      $scope->{before} .= $token;
    }
  }
}

check($_) for @ARGV;
