# frozen_string_literal: true

require "fileutils"
require "rubygems/package"
require_relative "../lib/elah/version"
require_relative "ruby_headers"
require_relative "toolchain"

module Package
  # A platform of RubyGems: its target of Rust, and the architecture of the Debian packages that have its headers.
  Platform = Struct.new(:target, :architecture, :flags)

  # musl has no library to link into statically: the extension is loaded by a Ruby that has one.
  MUSL = "-C target-feature=-crt-static"
  PLATFORMS = {
    "x86_64-linux-gnu" => Platform.new("x86_64-unknown-linux-gnu.2.28", "amd64"),
    "aarch64-linux-gnu" => Platform.new("aarch64-unknown-linux-gnu.2.28", "arm64"),
    "x86_64-linux-musl" => Platform.new("x86_64-unknown-linux-musl", "amd64", MUSL),
    "aarch64-linux-musl" => Platform.new("aarch64-unknown-linux-musl", "arm64", MUSL)
  }.freeze

  # Owns a gem that needs no compiler: for each Ruby of RubyHeaders an extension, in the folder where lib/elah/native.rb looks for it.
  class PrecompiledGem
    FEATURES = "clients"
    FILES = %w[lib/**/*.rb exe/* README.md CHANGELOG.md LICENSE].freeze

    def initialize(platform)
      @platform = platform
      @settings = PLATFORMS.fetch(platform)
      @toolchain = Toolchain.new(@settings.target, @settings.flags)
    end

    # @return [String] the path of the file
    def build
      FileUtils.rm_rf(staging)
      copy_files
      RubyHeaders::VERSIONS.each { |version| install(@toolchain.build(RubyHeaders.new(version, @settings.architecture).ruby, FEATURES), version) }
      package
    end

    def file = File.join(FOLDER, "elah-#{Elah::VERSION}-#{@platform}.gem")

    private

    def staging = File.join(WORK, "staging", @platform)

    def copy_files
      Dir.chdir(ROOT) { Dir[*FILES] }.each do |file|
        FileUtils.mkdir_p(File.dirname(File.join(staging, file)))
        FileUtils.cp(File.join(ROOT, file), File.join(staging, file))
      end
    end

    def install(library, version)
      folder = File.join(staging, "lib/elah", version)
      FileUtils.mkdir_p(folder)
      FileUtils.install(library, File.join(folder, "elah.so"), mode: 0o755)
    end

    def package
      Dir.chdir(staging) { Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) { Gem::Package.build(specification, false, false, file) } }
      file
    end

    def specification
      Gem::Specification.load(File.join(ROOT, "elah.gemspec")).dup.tap do |spec|
        # From its parts: RubyGems before 3.3.22 would leave out the last of them.
        spec.platform = Gem::Platform.new(@platform.split("-"))
        spec.files = Dir["**/*"].select { |path| File.file?(path) }
        spec.extensions = []
        spec.required_ruby_version = RubyHeaders.requirement
      end
    end
  end
end
