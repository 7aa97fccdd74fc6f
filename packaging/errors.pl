#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Prints the man page ipu-errors(7): each error of the sources, with what to do. packaging/errors.pl VERSION FILE...
# An error is Error(Code::kX, TEXT), the same in braces, or an Error::from_errno(errno, TEXT) that says what to do. Of TEXT, the
# literals are kept, and what stands between them becomes "...". Its first "; " separates what failed from what to do.
use strict;
use warnings;

# The rooms, by the longest prefix of a file.
my @topics = (
  ['What a container asks for', 'hook/container/request'],
  ['The start of a container', 'hook/container', 'hook/lifecycle', 'hook/confinement', 'hook/plain', 'cmd/ipu-container-'],
  ['The network', 'hook/lifecycle/network', 'netns'],
  ['Partitions and controllers', 'hook/lifecycle/partitions', 'vipu', 'cmd/ipu-vipu-', 'cmd/common'],
  ['The fleet and its etcd', 'hook/fleet', 'cmd/ipu-fleet-client'],
  ['The ledger, releases and repair', 'hook/ledger', 'hook/lifecycle/end', 'hook/lifecycle/repair'],
  ['The configuration', 'hook/config'],
  ['Container engines', 'hook/engines'],
  ['ipuctl and ipu-agent', 'cmd/ipuctl', 'cmd/ipu-agent'],
  ['gc-docker and gc-podman', 'cmd/gc-docker'],
  ['Jobs of Slurm', 'cmd/ipu-slurm'],
  ['vipu-simulator', 'cmd/vipu-simulator'],
  ['Files, processes and numbers', 'base'],
);

sub topic_of {
  my ($file) = @_;
  my ($best, $length) = (undef, -1);
  for my $topic (0 .. $#topics) {
    for my $prefix (@{$topics[$topic]}[1 .. $#{$topics[$topic]}]) {
      ($best, $length) = ($topic, length $prefix) if index($file, $prefix) == 0 && length $prefix > $length;
    }
  }
  die "errors.pl: no topic has $file; add its folder\n" unless defined $best;
  return $best;
}

# Returns the text of a call's arguments, which begin in SOURCE at AT.
sub text_at {
  my ($source, $at) = @_;
  my ($text, $hole, $depth) = ('', 0, 1);
  pos($source) = $at;
  while ($depth > 0) {
    die "errors.pl: the parentheses are not balanced\n" if pos($source) >= length $source;
    if ($source =~ /\G"((?:[^"\\]|\\.)*)"/gc) {
      my $literal = $1;
      $literal =~ s/\\(.)/$1/g;
      $text .= '...' if $hole;
      ($text, $hole) = ($text . $literal, 0);
    } elsif ($source =~ /\G,/gc) {
      $text .= '...' if $hole;
      $hole = 0;
    } elsif ($source =~ /\G\s+\?\s/gc) {
      $hole = 0;    # what a choice depends on
    } elsif ($source =~ /\G\s+:\s/gc) {
      $text .= $hole ? '...|' : '|';
      $hole = 0;
    } elsif ($source =~ /\G[({]/gc) {
      ++$depth;
    } elsif ($source =~ /\G[)}]/gc) {
      --$depth;
    } elsif ($source =~ /\G(?:base::)?str\(/gc) {
      ++$depth;
    } elsif ($source =~ /\G[\w:.>-]*\w/gc) {
      $hole = 1;
    } else {
      pos($source) = pos($source) + 1;
    }
  }
  $text .= '...' if $hole;
  $text =~ s/(?:\.\.\.){2,}/.../g;
  return $text;
}

sub roff {
  my ($text) = @_;
  $text =~ s/\\/\\e/g;
  $text =~ s/-/\\-/g;
  $text =~ s/^([.'])/\\&$1/;
  return $text;
}

my ($version, @files) = @ARGV;
my @rows = map { {} } @topics;
for my $file (@files) {
  open my $in, '<', $file or die "errors.pl: $file: $!\n";
  my $source = do { local $/; <$in> };
  $source =~ s/'"'/0/g;
  while ($source =~ /(\bError::from_errno\(\s*\w+\s*,|(?:\bError\(|\bemplace_back\(|[{(,]\s*\{|return\s*\{)\s*[^,;{}"()]*\bCode::k\w+\s*,|\binvalid\((?!std))/g) {
    my $is_kernels = index($1, 'from_errno') >= 0;
    my $text = text_at($source, pos $source);
    my ($failed, $todo) = split /; /, $text, 2;
    next unless ($failed // '') =~ /[a-z]{2}/;
    $failed =~ s/^\|+|\|+$//g;    # a choice of nothing
    $todo = '' unless defined $todo && $todo =~ /[a-z]/;
    next if $is_kernels && $todo eq '';
    $rows[topic_of($file)]{$failed}{$todo} = 1;
  }
}

print <<"END";
.\\" SPDX-License-Identifier: Apache-2.0
.\\" Made by packaging/errors.pl.
.TH IPU-ERRORS 7 "" "ipu-container-toolkit $version" "Miscellaneous information"
.nr HY 0
.nh
.ad l
.SH NAME
ipu-errors \\- the errors of ipu-container-toolkit, and what to do
.SH DESCRIPTION
Each program of the toolkit reports an error in one line.
The line says what failed, why, and mostly what to do.
This page has these lines, by topic.
In them, "..." stands for a name, a number or another error, and "|" is between words of which the line has one.
What to do is below each line, as the line itself says it.
A line with nothing below says all there is, or is the reason in another line.
.PP
A line that ends with a colon and a message of the kernel, such as
.RB \\(dq "No such file or directory" \\(dq,
is here only if it says what to do: it names what was tried, and the kernel says why it failed.
.PP
.B ipuctl explain
shows the error of a container, and
.B ipuctl events
shows those of all containers.
END
# What to do, as a sentence. A command stays as it is typed.
sub sentence {
  my ($todo) = @_;
  return '\\&' if $todo eq '';
  $todo = ucfirst $todo unless $todo =~ /^(?:chmod|chown|modprobe|mount|systemctl) /;
  return roff($todo =~ /[.?]$/ ? $todo : "$todo.");
}

for my $topic (0 .. $#topics) {
  my $rows = $rows[$topic];
  print '.SH ', uc $topics[$topic][0], "\n";
  for my $failed (sort { lc $a cmp lc $b } keys %$rows) {
    print ".TP\n", roff($failed), "\n", join("\n.br\n", map { sentence($_) } sort keys %{$rows->{$failed}}), "\n";
  }
}
print <<'END';
.SH SEE ALSO
.BR ipuctl (8),
.BR ipu-container-toolkit (5),
.BR ipu-container-toolkit (7)
END
