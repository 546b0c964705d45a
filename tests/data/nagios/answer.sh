#!/bin/sh
# ANSWER EXIT_CODE ADDRESS: checks a host; for a host in the file it waits and ends with the code
grep -qxF "$2" {dead} || {{ echo fine; exit 0; }}
sleep 0.5
echo no answer
exit "$1"
