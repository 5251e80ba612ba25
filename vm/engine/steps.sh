# In the job, with the engine: a container with limits, and a request to it.
set -eu
tar --create --directory /image kcup | docker import - kcup >/dev/null
docker info --format 'version {{.CgroupVersion}}, {{.Driver}}'
name=$(docker run --detach --memory 64m --cpus 0.5 --publish 127.0.0.1:5000:5000 --env HOST=0.0.0.0 kcup /kcup --text hello)
echo "memory $(cat /sys/fs/cgroup/docker/"$name"/memory.max)"
exec 3<>/dev/tcp/127.0.0.1/5000
printf 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' >&3
sed -n '1 { s/\r//; p }; $p' <&3
echo
docker stop "$name" >/dev/null
docker inspect --format 'exit {{.State.ExitCode}}' "$name"
