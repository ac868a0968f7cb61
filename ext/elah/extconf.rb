# frozen_string_literal: true

# Owns the Makefile by which RubyGems builds the extension: rb_sys writes it when it is installed, else it is written here
# and calls cargo. What is missing is said before the build fails on it.
require "rbconfig"

WORKSPACE = File.expand_path("../..", __dir__)
RUST_VERSION = File.read(File.join(WORKSPACE, "Cargo.toml"))[/^rust-version = "(.+)"/, 1]

# The native clients, which are cargo's features, and whether they are built without `--with-NAME` or `--without-NAME`. The last two are a fifth of
# the time of all (docs/decisions/build.md).
CLIENTS = { "redis" => true, "sql" => true, "mongo" => false, "parquet" => false }.freeze

def executable?(name) = ENV["PATH"].split(File::PATH_SEPARATOR).any? { |folder| File.executable?(File.join(folder, name)) }

# Where the build looks for libclang, too.
LIBRARIES = %w[/usr/lib/llvm-*/lib /usr/lib/* /usr/lib* /usr/local/lib /opt/homebrew/opt/llvm/lib /Library/Developer/CommandLineTools/usr/lib].freeze

def in_libraries?(pattern) = Dir[*LIBRARIES.map { |folder| "#{folder}/#{pattern}" }].any? { |path| File.exist?(path) }

# Whoever says where it is has all of it.
def libclang_elsewhere? = ENV["LIBCLANG_PATH"] || executable?("llvm-config")

# What the build needs, and what is said without it.
needs = {
  "Elah runs on CRuby, and this is #{RUBY_ENGINE}: install it with CRuby 3.1 or later." => -> { RUBY_ENGINE == "ruby" },
  "Elah needs Ruby 3.1 or later, and this is #{RUBY_VERSION}: install a later Ruby." => -> { RUBY_VERSION.to_f >= 3.1 },
  "Elah's native extension is written in Rust, and cargo is missing: install Rust #{RUST_VERSION} or later from https://rustup.rs" =>
    -> { executable?("cargo") },
  "Elah needs Rust #{RUST_VERSION} or later, and cargo is older: run `rustup update`, or install it from https://rustup.rs" =>
    -> { Gem::Version.new(`cargo --version`[/[\d.]+/].to_s) >= Gem::Version.new(RUST_VERSION) },
  "A C compiler is missing, which links Elah's native extension: on Debian and Ubuntu run `apt-get install gcc libc6-dev`." =>
    -> { executable?("cc") },
  "The headers of Ruby #{RUBY_VERSION} are missing (ruby.h): on Debian and Ubuntu run `apt-get install ruby-dev`." =>
    -> { File.exist?(File.join(RbConfig::CONFIG["rubyhdrdir"].to_s, "ruby.h")) },
  "libclang is missing, which reads the headers of Ruby: on Debian and Ubuntu run `apt-get install libclang-dev`, " \
  "elsewhere install LLVM and set LIBCLANG_PATH to the folder of its libclang." =>
    -> { libclang_elsewhere? || in_libraries?("libclang{.,-[0-9]}*") },
  "The headers of libclang are missing (stddef.h): on Debian and Ubuntu run `apt-get install libclang-dev`, elsewhere install clang." =>
    -> { libclang_elsewhere? || executable?("clang") || in_libraries?("clang/*/include/stddef.h") }
}
sentence, = needs.find { |_, fulfilled| !fulfilled.call }
abort sentence if sentence

require "mkmf"
features = CLIENTS.filter_map { |client, is_default| client if with_config(client, is_default) }

begin
  require "rb_sys/mkmf"
rescue LoadError
  library = "libelah.#{RbConfig::CONFIG['SOEXT']}"
  File.write("Makefile", <<~MAKEFILE)
    sitearchdir = #{RbConfig::CONFIG['sitearchdir']}
    CARGO_TARGET_DIR ?= $(CURDIR)/target
    export CARGO_TARGET_DIR
    export RUBY = #{RbConfig.ruby}

    all:
    \tcargo build --locked --release --package elah --features "#{features.join(' ')}" --manifest-path #{WORKSPACE}/Cargo.toml

    # The build's own files are hundreds of megabytes and of no use once the extension is in place.
    install: all
    \tmkdir -p $(DESTDIR)$(sitearchdir)/elah
    \tinstall -m 755 $(CARGO_TARGET_DIR)/release/#{library} $(DESTDIR)$(sitearchdir)/elah/elah.#{RbConfig::CONFIG['DLEXT']}
    \trm -rf $(CURDIR)/target

    clean:
    \trm -rf $(CURDIR)/target

    .PHONY: all install clean
  MAKEFILE
else
  create_rust_makefile("elah/elah") { |build| build.features = features }
end
