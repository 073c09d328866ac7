// Package object opens, lists and writes the objects of an S3-compatible
// store, so that readers of files read them too: a path that starts with
// s3:// names an object, any other a file. Objects are read by ranges, and a
// read fails when the object was replaced meanwhile. It never looks at what
// the bytes mean.
//
// Credentials are found where AWS's own tools find them, in this order: the
// environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), the file
// of shared credentials (~/.aws/credentials or AWS_SHARED_CREDENTIALS_FILE, profile
// AWS_PROFILE), and the role of the container or machine, unless
// AWS_EC2_METADATA_DISABLED is true. The region is AWS_REGION, AWS_DEFAULT_REGION or that
// of the profile in ~/.aws/config (AWS_CONFIG_FILE). Certificates in the file
// AWS_CA_BUNDLE are trusted beside those of the system. NEARDUP_S3_ENDPOINT,
// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names another store than Amazon's, like
// http://127.0.0.1:7070.
package object

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"

	"github.com/neardup/neardup/data"
)

// scheme starts the path of an object: s3://BUCKET/KEY.
const scheme = "s3://"

// Is reports whether path names an object.
func Is(path string) bool { return strings.HasPrefix(path, scheme) }

// errPath is returned for a path that starts with s3:// and names no object.
var errPath = errors.New("no object")

// split returns the bucket and the key of an object's path.
func split(name string) (bucket, key string, err error) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(name, scheme), "/")
	if !Is(name) || bucket == "" {
		return "", "", fmt.Errorf("%s: %w: write s3://BUCKET/KEY", name, errPath)
	}
	return bucket, key, nil
}

// store is the client of the environment's store; it is made once. Its own calls
// are plain requests.
var store = sync.OnceValues(newStore)

func newStore() (*minio.Core, error) {
	endpoint := cmp.Or(os.Getenv("NEARDUP_S3_ENDPOINT"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("s3: endpoint %q: write http://HOST:PORT or https://HOST", endpoint)
	}
	secure := u.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	if err := trust(transport); err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	region, err := regionOf()
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	core, err := minio.NewCore(u.Host, &minio.Options{
		Creds:     credentials.NewChainCredentials(providers()),
		Secure:    secure,
		Transport: patient{transport},
		Region:    region,
	})
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	return core, nil
}

// trust has the certificates of AWS_CA_BUNDLE trusted, as those of a store of one's own.
func trust(t *http.Transport) error {
	bundle := os.Getenv("AWS_CA_BUNDLE")
	if bundle == "" || t.TLSClientConfig == nil {
		return nil
	}
	pem, err := os.ReadFile(bundle)
	if err != nil {
		return fmt.Errorf("AWS_CA_BUNDLE: %w", err)
	}
	roots := t.TLSClientConfig.RootCAs
	if roots == nil {
		if roots, err = x509.SystemCertPool(); err != nil {
			return err
		}
	}
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("AWS_CA_BUNDLE: %s holds no certificate: name a file of PEM", bundle)
	}
	t.TLSClientConfig.RootCAs = roots
	return nil
}

// regionOf is the region that the environment says, or the profile in AWS's configuration.
func regionOf() (string, error) {
	if region := cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")); region != "" {
		return region, nil
	}
	home, _ := os.UserHomeDir() // without one there is no file
	path := cmp.Or(os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config"))
	config, err := ini.LooseLoad(path) // which may not be there
	if err != nil {
		return "", fmt.Errorf("%s: %w: mend it, or set AWS_REGION", path, err)
	}
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	return cmp.Or(config.Section("profile "+profile).Key("region").String(), config.Section(profile).Key("region").String(), "us-east-1"), nil
}

// patience is how long a store may send nothing in the middle of an answer, or take
// nothing of what is sent.
var patience = time.Minute

// errSilent is returned for a request that does not go on.
var errSilent = errors.New("nothing came from the store, or went to it, for a minute: see that it runs")

// patient ends requests that do not go on. A connection that stays open, over which
// nothing comes or goes, would else be waited for without an end.
type patient struct{ http.RoundTripper }

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := r.Context()
	ctx, cancel := context.WithCancel(asked)
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &sent{r.Body, time.AfterFunc(patience, cancel)}
	}
	resp, err := p.RoundTripper.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil && asked.Err() == nil {
			err = errSilent
		}
		cancel()
		return nil, err
	}
	resp.Body = &answer{resp.Body, cancel}
	return resp, nil
}

// sent is the body of a request. It is read as it is sent.
type sent struct {
	io.ReadCloser
	timer *time.Timer // of the time since the last read; it ends the request
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.timer.Reset(patience); err != nil {
		s.timer.Stop()
	}
	return n, err
}

func (s *sent) Close() error {
	s.timer.Stop()
	return s.ReadCloser.Close()
}

// answer is the body of an answer.
type answer struct {
	io.ReadCloser
	cancel func() // the request
}

func (a *answer) Read(p []byte) (int, error) {
	timer := time.AfterFunc(patience, a.cancel)
	n, err := a.ReadCloser.Read(p)
	if !timer.Stop() && err != nil {
		err = errSilent
	}
	return n, err
}

func (a *answer) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}

// retries is how often what broke off is taken up again without getting further.
const retries = 3

// list calls found with the objects of a bucket whose keys begin with prefix. The client
// repeats a request that fails, but none of which the answer breaks off: that is done
// here, from the last object on.
func list(ctx context.Context, s *minio.Core, bucket, prefix string, found func(minio.ObjectInfo)) error {
	last := ""
	for try := 0; ; try++ {
		inner, cancel := context.WithCancel(ctx)
		before := last
		var err error
		for o := range s.Client.ListObjects(inner, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, StartAfter: last}) {
			if err = o.Err; err != nil {
				break
			}
			found(o)
			last = o.Key
		}
		cancel() // ends the listing
		if last != before {
			try = 0
		}
		if err == nil { // a listing that ctx ends says nothing
			return ctx.Err()
		}
		if try == retries || ctx.Err() != nil || errors.As(err, new(minio.ErrorResponse)) || errors.As(err, new(*url.Error)) {
			return err
		}
	}
}

// roleWait is how long the service that knows the machine's role may take to answer:
// where there is none, nothing may answer at all.
const roleWait = 5 * time.Second

// providers are where credentials are looked for.
func providers() []credentials.Provider {
	all := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		all = append(all, &credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport, Timeout: roleWait}})
	}
	return all
}

// errReplaced is returned for an object that is not the one that was opened.
var errReplaced = errors.New("the object was replaced while it was read, or since it was listed: run again into a new folder")

// explained says what to do about the store's refusals.
func explained(name string, err error) error {
	var answer minio.ErrorResponse
	var unreached *url.Error
	switch {
	case errors.As(err, &unreached):
		return fmt.Errorf("%s: the store does not answer: %w: see that it runs, and NEARDUP_S3_ENDPOINT or AWS_ENDPOINT_URL", name, err)
	case !errors.As(err, &answer):
		return fmt.Errorf("%s: %w", name, err)
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("%s: %w: %w", name, fs.ErrNotExist, err)
	case http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Errorf("%s: %w: %w: see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or AWS_PROFILE", name, fs.ErrPermission, err)
	case http.StatusPreconditionFailed:
		return fmt.Errorf("%s: %w: %w", name, errReplaced, err)
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%s: the store fails: %w: see that it runs", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// FileInfo is what a store or a file system says of an object or a file.
type FileInfo struct {
	Path    string
	Size    int64 // -1 for what is no regular file
	ModTime time.Time
	ETag    string // of an object: it changes with the content; of a file ""
}

// Stat looks at a file, a folder or an object.
func Stat(name string) (FileInfo, error) {
	if !Is(name) {
		info, err := os.Stat(name)
		if err != nil {
			return FileInfo{}, err
		}
		i := FileInfo{Path: name, Size: -1, ModTime: info.ModTime()}
		if info.Mode().IsRegular() {
			i.Size = info.Size()
		}
		return i, nil
	}
	bucket, key, err := split(name)
	if err != nil {
		return FileInfo{}, err
	}
	s, err := store()
	if err != nil {
		return FileInfo{}, err
	}
	o, err := s.StatObject(context.Background(), bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return FileInfo{}, explained(name, err)
	}
	return FileInfo{Path: name, Size: o.Size, ModTime: o.LastModified, ETag: o.ETag}, nil
}

// Find lists the objects that an argument names, by path: the object itself,
// all below it when it names a prefix as one would a folder, or those whose
// keys match a pattern as of path.Match. Names that start with a dot or an
// underscore are left out, unless they were named.
func Find(ctx context.Context, arg string) (found []FileInfo, err error) {
	bucket, key, err := split(arg)
	if err != nil {
		return nil, err
	}
	s, err := store()
	if err != nil {
		return nil, err
	}
	prefix := key
	pattern := strings.ContainsAny(key, "*?[")
	if pattern {
		prefix = key[:strings.IndexAny(key, "*?[")]
		if _, err := path.Match(key, ""); err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
	}
	err = list(ctx, s, bucket, prefix, func(o minio.ObjectInfo) {
		take := false
		switch {
		case strings.HasSuffix(o.Key, "/"): // a folder's mark
		case pattern:
			take, _ = path.Match(key, o.Key) // it was checked
		case o.Key == key:
			take = true
		case key == "" || strings.HasSuffix(key, "/") || strings.HasPrefix(o.Key, key+"/"):
			take = !hidden(strings.TrimPrefix(o.Key, key))
		}
		if take {
			found = append(found, FileInfo{Path: scheme + bucket + "/" + o.Key, Size: o.Size, ModTime: o.LastModified, ETag: o.ETag})
		}
	})
	if err != nil {
		return nil, explained(arg, err)
	}
	slices.SortFunc(found, func(a, b FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// hidden reports whether a name on the way to key starts with a dot or an
// underscore.
func hidden(key string) bool {
	for name := range strings.SplitSeq(key, "/") {
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return true
		}
	}
	return false
}

// Open opens a file or an object for reading; fs.ErrNotExist when there is
// none.
func Open(name string) (data.InputFile, error) {
	if !Is(name) {
		f, err := os.Open(name)
		if err != nil { // f holds a nil pointer
			return nil, err
		}
		return f, nil
	}
	info, err := Stat(name)
	if err != nil {
		return nil, err
	}
	return info.Open()
}

// OpenInput opens the file or object of a split for who reads it with options o. What is
// wrong with an object may be said when it is read first: its size need not be asked for.
func OpenInput(split data.Split, o data.ReaderOptions) (data.InputFile, error) {
	switch {
	case o.Open != nil:
		return o.Open(split.Path)
	case Is(split.Path) && split.Size >= 0 && len(split.Files) == 0:
		return FileInfo{Path: split.Path, Size: split.Size}.Open()
	}
	return Open(split.Path)
}

// Open opens what Stat or Find has told of, without asking again what it is. It does so
// where only Path and Size are known, too: the object is the one that answers first.
func (info FileInfo) Open() (data.InputFile, error) {
	if !Is(info.Path) {
		return Open(info.Path)
	}
	s, err := store()
	if err != nil {
		return nil, err
	}
	bucket, key, err := split(info.Path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &reader{stream: stream{handle: &handle{core: s, bucket: bucket, key: key, ctx: ctx, info: info}}, cancel: cancel}, nil
}
