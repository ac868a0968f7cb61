# frozen_string_literal: true

require "fileutils"
require_relative "debian_root"

# A folder with the source of a Ruby, a release or a checkout, from which one with YJIT is built in a Debian.
class RubySource
  # What Ruby and its own libraries are made with, beside what the tests need.
  PACKAGES = %w[autoconf libffi-dev libssl-dev libyaml-dev zlib1g-dev].freeze

  # A Ruby that is no Debian's looks for no Debian's gems.
  ENVIRONMENT = { "GEM_PATH" => "/usr/share/rubygems-integration/all" }.freeze

  # In the root. Make knows what has been made before. Bundled gems are those of the folder: without a Ruby to begin
  # with, none are fetched.
  BUILD = <<~SH
    cd /ruby-source
    [ -x configure ] || ./autogen.sh
    cd /ruby-build
    [ -f Makefile ] || /ruby-source/configure --enable-yjit --enable-shared --disable-install-doc
    make -j"$(nproc)"
    make HAVE_BASERUBY=no install-nodoc
    ldconfig
  SH

  # @return [RubySource, nil] what this folder has
  def self.in(folder) = File.file?(File.join(folder, "include/ruby/version.h")) ? new(folder) : nil

  def initialize(folder)
    @folder = File.expand_path(folder)
  end

  # @return [String] as `3.4.5`
  def version
    numbers = File.read(File.join(@folder, "include/ruby/version.h")) + File.read(File.join(@folder, "version.h"))
    names = %w[API_VERSION_MAJOR API_VERSION_MINOR VERSION_TEENY]
    names.map { |name| numbers[/^#define RUBY_#{name} (\d+)/, 1] }.join(".")
  end

  # Builds it, or what has changed, and installs it.
  # @param root [String] of a Debian
  # @param build [String] a folder for what is made, that stays
  def install(root, build)
    puts "Ruby #{version} is built in #{build}; the first time it takes minutes"
    log = File.join(build, "build.log")
    FileUtils.mkdir_p(build)
    DebianRoot.run("Ruby #{version} was not built; see #{log}",
                   *DebianRoot.enter(root, "sh", "-ec", "exec >/ruby-build/build.log 2>&1\n#{BUILD}",
                                     mounts: { @folder => "/ruby-source", build => "/ruby-build" }))
  end
end
