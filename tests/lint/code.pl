# SPDX-License-Identifier: Apache-2.0
# For the Perl programs of this folder: C++ without what is no code.
use strict;
use warnings;

# The text with comments, literals and preprocessor lines blanked; line numbers stay.
sub code_of {
  my ($text) = @_;
  my $blank = sub { my ($part) = @_; $part =~ s/[^\n]/ /g; return $part; };
  my $string = qr{R"(\w*)\(.*?\)\g{-1}"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'}s;
  $text =~ s{//[^\n]*|/\*.*?\*/|$string}{$blank->($&)}gse;
  $text =~ s{^[ \t]*#(?:[^\n]*\\\n)*[^\n]*}{$blank->($&)}gme;
  return $text;
}

1;
