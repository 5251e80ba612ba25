module gitlab.com/kcup/kcup/kcup-go

go 1.26.0

toolchain go1.26.8

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/klauspost/compress v1.20.0
	github.com/landlock-lsm/go-landlock v0.11.0
	github.com/molecule-man/go-brrr v1.0.1
	github.com/sirupsen/logrus v1.10.2
	github.com/valyala/fasthttp v1.74.0
	golang.org/x/sys v0.49.0
	kernel.org/pub/linux/libs/security/libcap/psx v1.2.77
)

require github.com/valyala/bytebufferpool v1.0.0 // indirect
