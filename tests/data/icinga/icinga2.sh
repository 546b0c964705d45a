#!/bin/sh
folder=$(dirname "$0")
PATH=$PATH:/usr/sbin exec icinga2 "$@" -D RunAsUser=root -D RunAsGroup=root -D DataDir="$folder" -D CacheDir="$folder" \
    -D LogDir="$folder" -D InitRunDir="$folder" -D SpoolDir="$folder" -D NodeName=here -D ZoneName=here
