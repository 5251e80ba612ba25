package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	certificatePath = "/run/certificate.pem"
	keyPath         = "/run/key.pem"
)

// dial connects over tcp, unix or tls; the deadline of the connection is that of the dialling.
func dial(network, addr string, within time.Duration) (connection net.Conn, err error) {
	dialer := &net.Dialer{Timeout: within}
	if network == "tls" {
		connection, err = tls.DialWithDialer(dialer, "tcp", addr, &tls.Config{InsecureSkipVerify: true})
	} else {
		connection, err = dialer.Dial(network, addr)
	}
	if err == nil {
		err = connection.SetDeadline(time.Now().Add(within))
	}
	return connection, err
}

// writePair writes a certificate that signs itself, and its key.
func writePair() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.AddDate(0, -1, 0), NotAfter: now.AddDate(0, 1, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(certificatePath, "CERTIFICATE", certificate); err != nil {
		return err
	}
	return writePEM(keyPath, "PRIVATE KEY", private)
}

func writePEM(path, kind string, block []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: block}), 0o644)
}
