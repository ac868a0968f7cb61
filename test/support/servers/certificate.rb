# frozen_string_literal: true

require "openssl"

module Servers
  # Owns the TLS identity of a test's server: a key, a certificate for 127.0.0.1 and localhost, and the authority that
  # signed it.
  class Certificate
    SECONDS = 86_400

    # @param folder [String] where the files go
    # @return [Certificate]
    def self.issue(folder) = new(folder)

    # @return [String] path of the certificate that clients trust
    attr_reader :authority_path

    # @return [String] path of the server's certificate
    attr_reader :path

    # @return [String] path of the server's private key
    attr_reader :key_path

    # @return [String] path of key and certificates as PKCS #12, without a password worth the name ("secret")
    attr_reader :store_path

    def initialize(folder)
      @authority_path, @path, @key_path, @store_path =
        %w[ca.crt server.crt server.key server.p12].map { |name| File.join(folder, name) }
      authority_key, key = Array.new(2) { OpenSSL::PKey::EC.generate("prime256v1") }
      authority = certificate("Elah test authority", authority_key, authority_key, "basicConstraints" => "CA:TRUE")
      own = certificate("localhost", key, authority_key, issuer: authority,
                                                         "subjectAltName" => "DNS:localhost,IP:127.0.0.1")
      File.write(@authority_path, authority.to_pem)
      File.write(@path, own.to_pem)
      File.write(@key_path, key.to_pem, perm: 0o600)
      File.binwrite(@store_path, OpenSSL::PKCS12.create("secret", "server", key, own, [authority]).to_der)
    end

    private

    def certificate(name, key, signer, issuer: nil, **extensions)
      OpenSSL::X509::Certificate.new.tap do |certificate|
        certificate.version = 2
        certificate.serial = OpenSSL::BN.rand(64)
        certificate.subject = OpenSSL::X509::Name.new([["CN", name]])
        certificate.issuer = (issuer || certificate).subject
        certificate.public_key = key
        certificate.not_before = Time.now - SECONDS
        certificate.not_after = Time.now + SECONDS
        factory = OpenSSL::X509::ExtensionFactory.new
        extensions.each do |id, value|
          certificate.add_extension(factory.create_extension(id, value, id == "basicConstraints"))
        end
        certificate.sign(signer, "SHA256")
      end
    end
  end
end
