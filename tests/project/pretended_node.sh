#!/bin/sh
# The commands of a fake node (pretended_site.py), by the name that this file is called by. The shell starts in
# a tenth of the time of Python, and a playbook calls dozens of them.
# PRETENDED is the folder of the site, ALONE what makes a mount namespace, NODE the node that was entered.
set -fu
python() { exec "$PYTHON" "$@"; }

name=${0##*/}
case $name in
    enter) # in the place of sudo: a command on a node, with the commands of this file before those of the machine
        export NODE="$1" PATH="$PRETENDED/bin:$PATH"
        if [ -e "$PRETENDED/$NODE/down" ]; then
            echo 'No route to host' >&2
            exit 255
        fi
        while [ "$1" != /bin/sh ]; do shift; done
        # the files of the node lie over those of the machine; writes are lost
        # shellcheck disable=SC2016 # expanded by the inner shell
        over='mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work && mount -t overlay -o "$0" overlay /etc && exec "$@"'
        # shellcheck disable=SC2086 # several words
        exec $ALONE sh -c "$over" "lowerdir=$PRETENDED/$NODE/etc:/etc,upperdir=/mnt/upper,workdir=/mnt/work" "$@"
        ;;
    ssh) # notes its arguments, and runs the command here
        for last; do :; done
        # shellcheck disable=SC2048,SC2086 # spaces of several words become one
        line=$(printf '%s ' $*)
        printf '%s\n' "$line" >>"$PRETENDED/ssh"
        exec /bin/sh -c "$last"
        ;;
    runuser | setpriv)
        case " $* " in
            *' --no-new-privs '*) behind=--no-new-privs ;;
            *) behind=-- ;;
        esac
        while [ "$1" != "$behind" ]; do shift; done
        shift
        exec "$@"
        ;;
    systemctl)
        if [ "$1" = show ]; then
            printf 'LoadState=loaded\nActiveState=active\n'
            exit
        fi
        echo "$NODE $1 $2" >>"$PRETENDED/units"
        [ "$1" != start ] || python start "$2"
        ;;
    journalctl) echo 'plumbline: disk oss2-disk1: cannot be opened' ;;
    plumbline) python plumbline "$@" ;;
esac
