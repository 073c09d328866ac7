package object

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// uploads is how many files are uploaded at once.
const uploads = 4

// Publish uploads files of the folder dir, named relative to it, below the
// prefix s3://BUCKET/PREFIX, and then the marker, the last of all: a reader
// that waits for the marker never sees half. A marker that is there is removed
// first. An object of the same name is replaced; others below the prefix are
// removed where they stand in one of the folders that files are in, so that
// what was published before leaves nothing between the new files. An object that
// has a file's very bytes already, as an upload that was interrupted leaves them, is
// not uploaded again.
func Publish(ctx context.Context, dir string, files []string, marker, prefix string) error {
	bucket, key, err := split(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return err
	}
	s, err := store()
	if err != nil {
		return err
	}
	at := func(name string) string { return strings.TrimPrefix(key+"/"+filepath.ToSlash(name), "/") }
	if err := s.RemoveObject(ctx, bucket, at(marker), minio.RemoveObjectOptions{}); err != nil {
		return explained(prefix, err)
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	fresh, folders := make(map[string]bool), make(map[string]bool)
	for _, name := range files {
		fresh[at(name)] = true
		folders[at(filepath.Dir(name))] = filepath.Dir(name) != "."
		group.Go(func() error { return upload(inner, s, filepath.Join(dir, name), bucket, at(name)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for folder, is := range folders {
		if !is {
			continue
		}
		var old []string
		err := list(ctx, s, bucket, folder+"/", func(o minio.ObjectInfo) {
			if !fresh[o.Key] {
				old = append(old, o.Key)
			}
		})
		if err != nil {
			return explained(prefix, err)
		}
		for _, key := range old {
			if err := s.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{}); err != nil {
				return explained(prefix, err)
			}
		}
	}
	return upload(ctx, s, filepath.Join(dir, marker), bucket, at(marker))
}

// sumField is the metadata of an object that has the XXH3-128 of its bytes, in
// hexadecimal.
const sumField = "Neardup-Xxh3"

// upload writes one object, which appears complete or not at all, unless it is there.
// The store compares the digest of what arrives with the one that is sent.
func upload(ctx context.Context, s *minio.Core, path, bucket, key string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	have, err := s.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
	if err == nil && have.Size == info.Size() && have.UserMetadata[sumField] == sum {
		return nil
	}
	done, err := s.FPutObject(ctx, bucket, key, path, minio.PutObjectOptions{SendContentMd5: true, UserMetadata: map[string]string{sumField: sum}})
	if err != nil {
		return explained(scheme+bucket+"/"+key, err)
	}
	if done.Size != info.Size() {
		return fmt.Errorf("%s%s/%s: %d bytes of %d arrived", scheme, bucket, key, done.Size, info.Size())
	}
	return nil
}

// sumOf is the XXH3-128 of a file.
func sumOf(path string) (sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := xxh3.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	b := h.Sum128().Bytes()
	return hex.EncodeToString(b[:]), nil
}
