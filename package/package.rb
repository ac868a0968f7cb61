# frozen_string_literal: true

require "fileutils"
require_relative "../lib/elah/version"
require_relative "debian_package"
require_relative "precompiled_gem"

# Owns the parts of a release and the order in which they are built. `bin/package` runs it.
module Package
  # Platforms that have a Debian package too.
  DEBS = %w[x86_64-linux-gnu aarch64-linux-gnu].freeze
  PARTS = {
    "gem" => -> { source_gem },
    **PLATFORMS.keys.to_h { |platform| [platform, -> { PrecompiledGem.new(platform).build }] },
    **DEBS.to_h { |platform| ["deb-#{platform.split("-").first}", -> { DebianPackage.new(platform).build }] }
  }.freeze

  module_function

  # The gem that compiles the extension when it is installed.
  #
  # @return [String] the path of the file
  def source_gem
    file = File.join(FOLDER, "elah-#{Elah::VERSION}.gem")
    run("gem", "build", "--silent", "elah.gemspec", "--output", file)
    file
  end

  def build(words)
    unknown = words - PARTS.keys
    abort "package: there is no part #{unknown.first}; the parts are #{PARTS.keys.join(", ")}" if unknown.any?
    FileUtils.mkdir_p(FOLDER)
    (words.empty? ? PARTS.keys : words).each do |part|
      puts "package: #{part}"
      file = PARTS.fetch(part).call
      puts "package: #{file.delete_prefix("#{ROOT}/")}, #{(File.size(file) / 1e6).round(1)} MB"
    end
  end
end

$stdout.sync = true
ARGV == ["--list"] ? puts(Package::PARTS.keys) : Package.build(ARGV)
