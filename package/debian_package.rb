# frozen_string_literal: true

require "fileutils"
require "rubygems/package"
require "zlib"
require_relative "../lib/elah/version"
require_relative "precompiled_gem"

module Package
  # Owns the Debian package: the files of a precompiled gem, where Debian's Ruby looks for libraries, and a specification for RubyGems and Bundler.
  class DebianPackage
    LIBRARIES = "usr/lib/ruby/vendor_ruby"
    SPECIFICATIONS = "usr/share/rubygems-integration/all/specifications"
    DOCUMENTATION = "usr/share/doc/elah"
    # Not beside the libraries: `exe/elah` adds the `lib` beside its own folder to the load path.
    COMMANDS = "usr/share/elah/exe"

    # @param platform [String] a key of PLATFORMS
    def initialize(platform)
      @platform = platform
      @architecture = PLATFORMS.fetch(platform).architecture
    end

    # From the gem in pkg/, which is built where it is missing.
    #
    # @return [String] the path of the file
    def build
      precompiled = PrecompiledGem.new(@platform)
      gem = Gem::Package.new(File.exist?(precompiled.file) ? precompiled.file : precompiled.build)
      FileUtils.rm_rf([root, unpacked])
      gem.extract_files(unpacked)
      place
      write(SPECIFICATIONS, "elah-#{Elah::VERSION}.gemspec", specification(gem.spec).to_ruby)
      write("DEBIAN", "control", control)
      file = File.join(FOLDER, "elah_#{Elah::VERSION}_#{@architecture}.deb")
      Package.run("dpkg-deb", "--root-owner-group", "--build", root, file, out: File::NULL)
      file
    end

    private

    def root = File.join(WORK, "deb-#{@architecture}")
    def unpacked = "#{root}-gem"

    def place
      FileUtils.mkdir_p([LIBRARIES, COMMANDS, DOCUMENTATION, "usr/bin"].map { |folder| File.join(root, folder) })
      FileUtils.cp_r("#{unpacked}/lib/.", File.join(root, LIBRARIES))
      FileUtils.install(File.join(unpacked, "exe/elah"), File.join(root, COMMANDS, "elah"), mode: 0o755)
      FileUtils.ln_s("../share/elah/exe/elah", File.join(root, "usr/bin/elah"))
      FileUtils.install(File.join(unpacked, "LICENSE"), File.join(root, DOCUMENTATION, "copyright"), mode: 0o644)
      Zlib::GzipWriter.open(File.join(root, DOCUMENTATION, "changelog.gz")) { |gz| gz.write(File.read(File.join(unpacked, "CHANGELOG.md"))) }
    end

    def write(folder, name, text)
      FileUtils.mkdir_p(File.join(root, folder))
      File.write(File.join(root, folder, name), text)
    end

    # It has no platform: RubyGems looks for the libraries in the load path, where Debian has them.
    def specification(spec)
      spec.dup.tap do |installed|
        installed.platform = Gem::Platform::RUBY
        installed.files = []
      end
    end

    def control
      oldest, newest = RubyHeaders::VERSIONS.minmax_by { |version| version.split(".").map(&:to_i) }
      <<~CONTROL
        Package: elah
        Version: #{Elah::VERSION}
        Architecture: #{@architecture}
        Maintainer: The Elah authors <elah@localhost>
        Depends: ruby (>= 1:#{oldest}), ruby (<< 1:#{newest.succ}~), ruby-rack (>= 2.2), libc6 (>= 2.28)
        Installed-Size: #{Dir["#{root}/usr/**/*"].sum { |path| File.file?(path) ? File.size(path) : 0 } / 1024}
        Section: ruby
        Priority: optional
        Description: non-blocking API server and framework for Ruby with a Rust core
         One fiber per request, linear code, nothing blocks: serves Rack apps as they
         are, and APIs in Grape's vocabulary at the speed of a compiled server.
      CONTROL
    end
  end
end
