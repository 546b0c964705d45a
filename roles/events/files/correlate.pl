# What is open on which host, and the passive result that says so to Nagios.
#
# The rules know messages, this knows time: problem() and recovered() say whether there is news, and the rules wait for
# the end of a burst before they call report_news(). leaves(), unmounts(), unmounted() and serves() say what hosts and targets
# are doing in order, and what follows from that is no problem. Nothing that a message says reaches Nagios but the few words that a rule has
# captured, and of those only plain letters. What is open survives a restart in a file. A target that another server has taken in
# order is no problem either, but both say so, OK.

package Plumbline::Events;

use strict;
use warnings;
use Fcntl qw(O_WRONLY O_NONBLOCK);
use POSIX qw(strftime);

my %option;
my %known;
my %name;     # as logs call a host -> as Nagios does
my %open;     # host -> key -> {severity, text, count, since, last, life}
my %news;     # hosts of which a result is due
my %leaving;  # host -> when it said that it shuts down
my %moved;    # target that was unmounted -> {host, at, complete, back}: by whom, when, whether that ended, when it was served again
my %away;     # target that another server took in order -> {home, host, since, last}: whose it is, who has it, and who said so when

my %CODE = (OK => 0, WARNING => 1, CRITICAL => 2);
my $MOST_TEXTS = 5;
my $MOST_OPEN  = 1000;    # of one host: what invents names cannot fill the memory
my $SHUTDOWN_S = 900;     # a host that shuts down is gone by then
my $UNMOUNT_S  = 600;     # a target is unmounted by then
my $RECOVERY_S = 900;     # the longest recovery of Lustre: the clients of a target are back by then, or evicted

# hosts: names that Nagios knows, the first words of which differ, for logs call a host by that; pipe; service; state: a file;
# lasting_s, brief_s: until what is not repeated is forgotten; heartbeat_min: minutes between two results of a host on which
# nothing happens.
sub setup {
    %option = @_;
    %known  = map { $_ => 1 } @{ $option{hosts} };
    %name   = map { (split /\./)[0] => $_ } @{ $option{hosts} };
    %open   = ();
    %leaving = ();
    %moved   = ();
    %away    = ();
    load();
    return scalar keys %known;
}

# Returns whether there is something new to tell.
sub problem {
    my ($called, $severity, $life, $key, $text) = @_;
    my $host = $name{$called};
    return 0 unless defined $host;
    return 0 if routine($host, $key);
    my $now = time();
    my $one = $open{$host}{$key};
    if (!$one) {
        return 0 if keys %{ $open{$host} } >= $MOST_OPEN;
        $one = $open{$host}{$key} = {count => 0, since => $now, severity => $severity};
    }
    my $news = !$one->{count} || $CODE{$severity} > $CODE{ $one->{severity} };
    $one->{severity} = $severity if $news;
    $one->{count}++;
    @$one{qw(text life last)} = ($text, $life, $now);
    $news{$host} = 1 if $news;
    return $news ? 1 : 0;
}

# Returns whether that closes something; "*" is every host.
sub recovered {
    my ($called, $key) = @_;
    my @among = $called eq '*' ? keys %open : grep { defined } $name{$called};
    my @hosts = grep { $open{$_} && delete $open{$_}{$key} } @among;
    @news{@hosts} = (1) x @hosts;
    return @hosts ? 1 : 0;
}

# A host says that it shuts down.
sub leaves {
    my $host = $name{ $_[0] };
    $leaving{$host} = time() if defined $host;
    return;
}

# A server unmounts a target, and has done so.
sub unmounts {
    my ($called, $target) = @_;
    my $host = $name{$called};
    return if !defined $host || keys %moved >= $MOST_OPEN;
    $moved{$target} = {host => $host, at => time(), complete => 0, back => 0};
    return;
}

sub unmounted {
    my ($called, $target) = @_;
    unmounts($called, $target) unless $moved{$target};
    $moved{$target}{complete} = 1 if $moved{$target};
    return;
}

# A server, the same or another, has it again. Returns whether that is new.
sub serves {
    my ($called, $target) = @_;
    my $host = $name{$called};
    return 0 unless defined $host;
    my $one   = $moved{$target};
    my $first = $one && $one->{complete} && !$one->{back};
    $one->{back} = time() if $first;
    my $away = $away{$target};
    return stays_away($host, $target) if $away && $away->{home} ne $host;
    return comes_home($target)        if $away;
    return 0 unless $first && $one->{host} ne $host && keys %away < $MOST_OPEN;
    $away{$target} = {home => $one->{host}, host => $host, since => time(), last => time()};
    @news{ $one->{host}, $host } = (1, 1);
    return 1;
}

# A server that is not its own has a target, the one that had it before or yet another.
sub stays_away {
    my ($host, $target) = @_;
    my $away   = $away{$target};
    my $before = $away->{host};
    @$away{qw(host last)} = ($host, time());
    return 0 if $before eq $host;
    $away->{since} = time();
    @news{ $away->{home}, $before, $host } = (1, 1, 1);
    return 1;
}

sub comes_home {
    my $away = delete $away{ $_[0] };
    @news{ @$away{qw(home host)} } = (1, 1);
    return 1;
}

# Returns whether it follows from what is done in order: a host that shuts down lets go of its disks and links, and boots again; a
# target that was unmounted is lost to its clients and recovers, and evicts those on its own server, which take no part in that.
sub routine {
    my ($host, $key) = @_;
    my $left = $leaving{$host};
    if (defined $left) {
        return defined delete $leaving{$host} if $key eq 'boot';
        return 1 if $key =~ /^(?:disk|link|path|connection)-/ && time() - $left < $SHUTDOWN_S;
    }
    return 0 unless $key =~ /^(connection|evicted|target)-(.+)$/ && $moved{$2};
    return $1 ne 'evicted' || $moved{$2}{host} eq $host;
}

# Forgets what has been done in order, and opens what has not ended.
sub overdue {
    my ($now, $due) = @_;
    for my $target (keys %moved) {
        my $one = $moved{$target};
        if ($now - $one->{at} >= $option{lasting_s} || $one->{back} && $now - $one->{back} >= $RECOVERY_S) {
            delete $moved{$target};
        } elsif (!$one->{complete} && $now - $one->{at} >= $UNMOUNT_S && !$open{ $one->{host} }{"unmount-$target"}) {
            $open{ $one->{host} }{"unmount-$target"} = {
                severity => 'WARNING', life => 'lasting', count => 1, since => $one->{at}, last => $now,
                text => "the unmount of $target does not end",
            };
            $due->{ $one->{host} } = 1;
        }
    }
    return;
}

# Returns as a part of a key the name of the sensor of which ipmievd ("Fan sensor NAME Lower Critical going low Asserted") or
# ipmiseld ("SEL System Event: DATE, TIME, NAME, ...") speaks. Where the end of a name is not known the key is longer, and the same
# at the end as at the beginning.
sub sensor {
    my $said = join(' ', @_);
    return '' unless $said =~ /\bsensor (.+?) (?:Lower|Upper|Asserted|Deasserted)\b/ || $said =~ /Event[^:]*: [^,]+, [^,]+, ([^,]+),/;
    my $name = $1;
    $name =~ s/[^A-Za-z0-9]+/-/g;
    return substr($name, 0, 60);
}

# Called each minute: forgets what was not repeated, and tells each host in its turn, so that Nagios knows we live. A host with
# news is in a burst, at the end of which it is reported anyway.
sub minute {
    my $now = time();
    my %due;
    for my $host (keys %open) {
        for my $key (keys %{ $open{$host} }) {
            my $one = $open{$host}{$key};
            next if $now - $one->{last} < $option{"$one->{life}_s"};
            delete $open{$host}{$key};
            $due{$host} = 1;
        }
    }
    overdue($now, \%due);
    for my $target (grep { $now - $away{$_}{last} >= $option{lasting_s} } keys %away) {
        my $away = delete $away{$target};
        @due{ @$away{qw(home host)} } = (1, 1);
    }
    my $turn   = int($now / 60);
    my $number = 0;
    for my $host (sort keys %known) {
        $due{$host} = 1 if ($turn + $number++) % $option{heartbeat_min} == 0;
    }
    report($_) for grep { !$news{$_} } sort keys %due;
    return save();
}

# Called at the start: what Nagios shows may be older than what is open here.
sub report_all {
    %news = %known;
    return report_news();
}

sub report_news {
    report($_) for sort keys %news;
    %news = ();
    return save();
}

# Writes one result, as a whole or not at all. A pipe that is not there, is no pipe or is full is left alone: Nagios
# rests, and the next heartbeat says the same again.
sub report {
    my $host = shift;
    my $line = result($host) . "\n";
    if (sysopen(my $pipe, $option{pipe}, O_WRONLY | O_NONBLOCK)) {
        local $SIG{PIPE} = 'IGNORE';
        if (!-p $pipe) {
            print STDERR "$option{pipe} is no pipe; the result of $host was not told\n";
        } elsif (!defined syswrite($pipe, $line)) {
            print STDERR "$option{pipe}: $!; the result of $host was not told\n";
        }
        close($pipe);
    } else {
        print STDERR "$option{pipe}: $!; the result of $host was not told\n";
    }
    return;
}

sub result {
    my $host = shift;
    my %texts;
    my $worst = 'OK';
    for my $one (values %{ $open{$host} || {} }) {
        $worst = $one->{severity} if $CODE{ $one->{severity} } > $CODE{$worst};
        my $all = $texts{ $one->{text} } ||= {count => 0, since => $one->{since}, code => 0};
        $all->{count} += $one->{count};
        $all->{since} = $one->{since}            if $one->{since} < $all->{since};
        $all->{code}  = $CODE{ $one->{severity} } if $CODE{ $one->{severity} } > $all->{code};
    }
    for my $target (keys %away) {
        my ($home, $at, $since) = @{ $away{$target} }{qw(home host since)};
        next if $host ne $home && $host ne $at;
        $texts{"$target moved from $home to $at"} = {count => 1, since => $since, code => 0};
    }
    my @order = sort { $texts{$b}{code} <=> $texts{$a}{code} or $a cmp $b } keys %texts;
    my $more  = @order - $MOST_TEXTS;
    splice @order, $MOST_TEXTS if $more > 0;
    my @said = map { said($_, $texts{$_}) } @order;
    push @said, "and $more more" if $more > 0;
    my $text = plain(@said ? join(', ', @said) : 'nothing open');
    my $time = time();
    return "[$time] PROCESS_SERVICE_CHECK_RESULT;$host;$option{service};$CODE{$worst};EVENTS $worst - $text";
}

sub said {
    my ($text, $all) = @_;
    my $since = strftime('%Y-%m-%d %H:%M UTC', gmtime($all->{since}));
    my $often = $all->{count} > 1 ? "$all->{count} times " : '';
    return "$text (${often}since $since)";
}

# The second guard: the rules capture nothing else anyway.
sub plain {
    my $text = shift;
    $text =~ s/[^A-Za-z0-9 ,.:()_\/@+-]//g;
    return substr($text, 0, 600);
}

sub save {
    my $new = "$option{state}.new";
    if (open(my $file, '>', $new)) {
        for my $host (sort keys %open) {
            for my $key (sort keys %{ $open{$host} }) {
                print $file join("\t", $host, $key, @{ $open{$host}{$key} }{qw(severity life count since last text)}), "\n";
            }
        }
        print $file join("\t", '-leaving', $_, $leaving{$_}), "\n" for sort keys %leaving;
        print $file join("\t", '-moved', $_, @{ $moved{$_} }{qw(host at complete back)}), "\n" for sort keys %moved;
        print $file join("\t", '-away', $_, @{ $away{$_} }{qw(home host since last)}), "\n" for sort keys %away;
        return if close($file) && rename($new, $option{state});
    }
    print STDERR "$option{state} cannot be written: $!; what is open is forgotten at a restart\n";
    return;
}

sub load {
    open(my $file, '<', $option{state}) or return;
    while (my $line = <$file>) {
        chomp $line;
        $leaving{$1} = $2 if $line =~ /^-leaving\t(\S+)\t(\d+)$/ && $known{$1};
        $moved{$1} = {host => $2, at => $3, complete => $4, back => $5}
            if $line =~ /^-moved\t(\S+)\t(\S+)\t(\d+)\t([01])\t(\d+)$/ && $known{$2};
        $away{$1} = {home => $2, host => $3, since => $4, last => $5}
            if $line =~ /^-away\t(\S+)\t(\S+)\t(\S+)\t(\d+)\t(\d+)$/ && $known{$2} && $known{$3};
        my ($host, $key, $severity, $life, $count, $since, $last, $text) = split /\t/, $line, 8;
        next unless defined $text && $known{$host} && $severity =~ /^(?:WARNING|CRITICAL)$/;
        next unless $life =~ /^(?:brief|lasting)$/ && "$count $since $last" =~ /^\d+ \d+ \d+$/;
        $open{$host}{$key} = {
            severity => $severity, life => $life, count => $count, since => $since, last => $last, text => $text,
        };
    }
    close($file);
    return;
}

1;
