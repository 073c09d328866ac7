module github.com/neardup/neardup

go 1.26

require (
	github.com/apache/arrow/go/v15 v15.0.2
	github.com/klauspost/compress v1.20.3
	github.com/markusmobius/go-trafilatura v1.12.2
	github.com/nlnwa/gowarc/v2 v2.0.1
	github.com/spf13/cobra v1.10.2
	github.com/vbauerster/mpb/v8 v8.9.3
	github.com/yanyiwu/gojieba v1.4.7
	github.com/zeebo/xxh3 v1.1.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/buger/jsonparser v1.1.1 // indirect
	github.com/goccy/go-yaml v1.19.0 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/minio/simdjson-go v0.4.5 // indirect
	github.com/rogpeppe/go-internal v1.14.1 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/net v0.48.0 // indirect
	golang.org/x/sync v0.19.0 // indirect
	golang.org/x/sys v0.39.0 // indirect
	golang.org/x/text v0.32.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217 // indirect
	google.golang.org/grpc v1.79.3 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
