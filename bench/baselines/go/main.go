// Baselines in Go: a first attempt, to compare kcup-go with. The one in Rust is ../rust/src/main.rs.
//
//	bench-go net-http|fasthttp-naive|fasthttp-raw|fasthttp-servefile FILE PORT
package main

import (
	"bytes"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/debug"

	"github.com/valyala/fasthttp"
)

var variants = map[string]func(listener net.Listener, file string, content []byte) error{
	"net-http": func(listener net.Listener, file string, content []byte) error {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, file, info.ModTime(), bytes.NewReader(content))
		}))
	},
	// Every response copies the content into its connection's buffer, which keeps that size.
	"fasthttp-naive": func(listener net.Listener, _ string, content []byte) error {
		text := string(content)
		return fasthttp.Serve(listener, func(ctx *fasthttp.RequestCtx) { fmt.Fprint(ctx, text) })
	},
	// The content is only referred to.
	"fasthttp-raw": func(listener net.Listener, _ string, content []byte) error {
		return fasthttp.Serve(listener, func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyRaw(content) })
	},
	"fasthttp-servefile": func(listener net.Listener, file string, _ []byte) error {
		return fasthttp.Serve(listener, func(ctx *fasthttp.RequestCtx) { fasthttp.ServeFile(ctx, file) })
	},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		printVersion()
		return
	}
	if len(os.Args) != 4 || variants[os.Args[1]] == nil {
		log.Fatal("usage: bench-go net-http|fasthttp-naive|fasthttp-raw|fasthttp-servefile FILE PORT")
	}
	content, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(variants[os.Args[1]](listener, os.Args[2], content))
}

func printVersion() {
	build, _ := debug.ReadBuildInfo()
	fmt.Print(build.GoVersion)
	for _, module := range build.Deps {
		if module.Path == "github.com/valyala/fasthttp" {
			fmt.Print(", fasthttp ", module.Version)
		}
	}
	fmt.Println()
}
