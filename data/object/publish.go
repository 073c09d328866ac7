package object

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// uploads is how many files are uploaded at once: most of them are small.
const uploads = 8

// Publish uploads files of the folder dir, named relative to it, below the
// prefix s3://BUCKET/PREFIX, and then the marker, the last of all: a reader
// that waits for the marker never sees half. A marker that is there is removed
// first. An object of the same name is replaced; others in the folders, which files may
// be in, are removed, so that nothing is left there of what was published before. An
// object that has a file's very bytes already, as an upload that was interrupted leaves
// them, is not uploaded again.
func Publish(ctx context.Context, dir string, files, folders []string, marker, prefix string) error {
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
	old := make(map[string]bool) // objects in the folders
	for _, folder := range folders {
		if err := list(ctx, s, bucket, at(folder)+"/", func(o minio.ObjectInfo) { old[o.Key] = true }); err != nil {
			return explained(prefix, err)
		}
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	for _, name := range files {
		there := old[at(name)] || !slices.Contains(folders, filepath.Dir(name)) // then nobody knows
		delete(old, at(name))
		group.Go(func() error { return upload(inner, s, filepath.Join(dir, name), bucket, at(name), there) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	removals, inner := errgroup.WithContext(ctx)
	removals.SetLimit(uploads)
	for key := range old {
		removals.Go(func() error { return s.RemoveObject(inner, bucket, key, minio.RemoveObjectOptions{}) })
	}
	if err := removals.Wait(); err != nil {
		return explained(prefix, err)
	}
	return upload(ctx, s, filepath.Join(dir, marker), bucket, at(marker), true)
}

// sumField is the metadata of an object that has the XXH3-128 of its bytes, in
// hexadecimal.
const sumField = "Neardup-Xxh3"

// upload writes one object, which appears complete or not at all. If there may be one, it
// writes nothing where that has the same bytes. The store compares the digest of what arrives with the one that is sent.
func upload(ctx context.Context, s *minio.Core, path, bucket, key string, there bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	if there {
		have, err := s.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
		if err == nil && have.Size == info.Size() && have.UserMetadata[sumField] == sum {
			return nil
		}
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
