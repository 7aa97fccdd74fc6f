# SPDX-License-Identifier: Apache-2.0
# Checks C++ against a table of rooms: perl -I FOLDER layering.pl TABLE <NAMES-OF-FILES, from the folder that the
# table's names are of. Prints "FILE:LINE: MESSAGE" for each finding, and fails if there is one. The table says
# what its lines mean: rooms.conf.
use strict;
use warnings;
require 'code.pl';

my ($table) = @ARGV;
my (%rooms, @libraries, %heavy, @spared);
my %included;  # what each header includes of ours, with its line
my $findings = 0;

sub finding {
  my ($file, $line, $message) = @_;
  print "$file:$line: $message\n";
  $findings++;
}

sub read_room {
  my ($folder, $namespace, @names) = @_;
  finding($table, $., "$folder has a line above") if $rooms{$folder};
  finding($table, $., "$folder is not a room, but a part of the one around it") if "/$folder/" =~ m{/internal/};
  finding($table, $., "$folder names $_, which has no line above") for grep { !$rooms{$_} } @names;
  $rooms{$folder} = { line => $., namespace => $namespace, names => { map { $_ => 1 } @names }, used => {} };
}

sub read_table {
  open(my $in, '<', $table) or die "$table: $!\n";
  while (<$in>) {
    my ($kind, @words) = split ' ', s/^#.*//r;
    next if !defined $kind;
    if ($kind eq 'room' && @words >= 2) {
      read_room(@words);
    } elsif ($kind eq 'library' && @words == 2) {
      push @libraries, \@words;
    } elsif ($kind eq 'heavy') {
      $heavy{$_} = 1 for @words;
    } elsif ($kind eq 'spared') {
      push @spared, @words;
    } else {
      finding($table, $., 'is none of "room FOLDER NAMESPACE [ROOM]...", "library HEADER FILES", "heavy HEADER...", "spared FILES..."');
    }
  }
}

# The folder of the room that a file is in; empty when it is in none.
sub room_of {
  my ($path) = @_;
  while ($path =~ s{/[^/]*$}{}) {
    return $path if $rooms{$path};
  }
  return '';
}

sub check_library {
  my ($file, $line, $header) = @_;
  for (@libraries) {
    my ($pattern, $files) = @$_;
    finding($file, $line, "$header is only for files that match $files") if $header =~ /$pattern/ && $file !~ /$files/;
  }
}

sub check_direction {
  my ($file, $line, $header) = @_;
  return finding($file, $line, "\"$header\" is included without its folder") if $header !~ m{/};
  my $from = room_of($file) or return;
  my $to = room_of($header);
  return if $to eq $from;
  return finding($file, $line, "$from must not include $header, which is in no room") if $to eq '';
  $rooms{$from}{used}{$to} = 1;
  if (!$rooms{$from}{names}{$to}) {
    finding($file, $line, "$from must not include $header: its line in $table does not name $to");
  } elsif ($header =~ m{/internal/}) {
    finding($file, $line, "$from must not include $header, which is internal to $to");
  }
}

sub check_namespaces {
  my ($file, $text) = @_;
  my $room = $rooms{ room_of($file) } or return;
  my $own = $room->{namespace};
  my $code = code_of($text);
  my $declares = 0;
  while ($code =~ /^[ ]*(?:inline\s+)?namespace\b\s*([\w:]*)\s*(\{((?:[^{}]++|(?2))*)\})/mg) {
    my ($name, $body, $start) = ($1, $3, $-[0]);
    next if $name eq '';
    my $is_own = $name eq $own || $name =~ /^\Q$own\E::/;
    $declares ||= $is_own && $body =~ /\S/;
    # A class of another room may be named without its header.
    next if $is_own || $body =~ /^(?:\s*(?:class|struct|enum(?:\s+class)?)\s+\w+(?:\s*:\s*[\w:]+)?\s*;)+\s*$/;
    my $line = 1 + (substr($code, 0, $start) =~ tr/\n//);
    finding($file, $line, "declares in namespace $name, and the room's is $own");
  }
  finding($file, 1, "declares nothing in the room's namespace, $own") if $file =~ /\.h$/ && $own ne '-' && !$declares;
}

sub check_file {
  my ($file) = @_;
  open(my $in, '<', $file) or die "$file: $!\n";
  my $text = do { local $/; <$in> } // '';
  my $line = 0;
  for (split /\n/, $text) {
    $line++;
    my ($spelled, $header) = /^ *# *include *([<"]([^">]*)[>"])/ or next;
    check_library($file, $line, $spelled);
    if ($spelled =~ /^"/) {
      check_direction($file, $line, $header);
      $included{$file}{$header} //= $line;
    } elsif (room_of($header) ne '') {
      finding($file, $line, "$spelled is ours: it is included in quotes");
    }
  }
  check_namespaces($file, $text);
  finding($file, 1, 'is in no room') if $file !~ m{^tests/} && room_of($file) eq '';
}

# Whether a header brings a heavy one with it; remembers the answer, in which a cycle of headers counts for nothing.
my %brings;

sub brings_heavy {
  my ($header) = @_;
  return $brings{$header} if exists $brings{$header};
  $brings{$header} = 0;
  return $brings{$header} = (grep { $heavy{$_} || brings_heavy($_) } keys %{ $included{$header} }) ? 1 : 0;
}

sub check_heavy {
  for my $file (sort keys %included) {
    next if grep { $file =~ /$_/ } @spared;
    for my $header (sort keys %{ $included{$file} }) {
      my ($folder) = $header =~ m{^([^/]*)/} or next;
      next if $heavy{$header} || $file =~ m{^(?:\Q$folder\E|tests)/} || !brings_heavy($header);
      finding($file, $included{$file}{$header}, "$header is not for other top folders: it brings a heavy header with it");
    }
  }
}

sub check_names {
  for my $folder (sort keys %rooms) {
    my $room = $rooms{$folder};
    finding($table, $room->{line}, "$folder names $_, but includes nothing of it")
      for grep { !$room->{used}{$_} } sort keys %{ $room->{names} };
  }
}

read_table();
chomp(my @files = <STDIN>);
check_file($_) for @files;
check_heavy();
check_names();
exit($findings ? 1 : 0);
