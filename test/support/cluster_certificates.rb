# frozen_string_literal: true

require "openssl"

# Owns an authority of a test's cluster, and writes the certificates that it signs.
class ClusterCertificates
  DAY = 24 * 3600

  # @return [String] path of the authority's certificate
  attr_reader :authority

  # @param folder [String] for the files; it exists
  def initialize(folder, name: "shop")
    @folder = folder
    @key = OpenSSL::PKey::EC.generate("prime256v1")
    @certificate = certificate("/CN=#{name}", @key, DAY * 30)
    extend_certificate(@certificate, @certificate,
                       ["basicConstraints", "CA:TRUE", true], ["keyUsage", "keyCertSign", true])
    @authority = write("authority.pem", sign(@certificate, @certificate).to_pem)
  end

  # Writes the certificate of a node and its key, over those that are there.
  #
  # @return [Hash{Symbol=>String}] the option `cluster_tls`
  def issue(node, seconds: DAY * 30, begins_in: -DAY * 2)
    key, pem = pair(node, seconds, begins_in)
    { certificate: write("#{node}.pem", pem), key: write("#{node}.key", key.to_pem), authority: @authority }
  end

  # @return [OpenSSL::SSL::SSLContext] of a client of that name; nil: without a certificate
  def client(node)
    context = OpenSSL::SSL::SSLContext.new
    context.ca_file = @authority
    context.alpn_protocols = ["elah-links"]
    key, pem = pair(node, DAY * 30) if node
    context.add_certificate(OpenSSL::X509::Certificate.new(pem), key) if node
    context
  end

  private

  def pair(node, seconds, begins_in = -DAY * 2)
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = certificate("/CN=#{node}", key, seconds)
    certificate.not_before = Time.now + begins_in
    extend_certificate(certificate, @certificate, ["subjectAltName", "DNS:#{node}", false])
    [key, sign(certificate, @certificate).to_pem]
  end

  def certificate(subject, key, seconds)
    OpenSSL::X509::Certificate.new.tap do |certificate|
      certificate.version = 2
      certificate.serial = OpenSSL::BN.rand(64)
      certificate.subject = OpenSSL::X509::Name.parse(subject)
      certificate.public_key = key
      certificate.not_before = Time.now - (DAY * 2)
      certificate.not_after = Time.now + seconds
    end
  end

  def extend_certificate(certificate, issuer, *extensions)
    factory = OpenSSL::X509::ExtensionFactory.new(issuer, certificate)
    extensions.each { |extension| certificate.add_extension(factory.create_extension(*extension)) }
  end

  def sign(certificate, issuer)
    certificate.issuer = issuer.subject
    certificate.sign(@key, OpenSSL::Digest.new("SHA256"))
  end

  # At once, so that nobody reads half of a file.
  def write(name, text)
    path = File.join(@folder, name)
    File.write("#{path}.new", text)
    File.rename("#{path}.new", path)
    path
  end
end
