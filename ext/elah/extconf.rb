# frozen_string_literal: true

# Owns the Makefile by which RubyGems builds the extension: rb_sys writes it when it is installed, else it is written here
# and calls cargo. What is missing is said before the build fails on it.
require "rbconfig"

def executable?(name) = ENV["PATH"].split(File::PATH_SEPARATOR).any? { |folder| File.executable?(File.join(folder, name)) }

def libclang?
  return true if ENV["LIBCLANG_PATH"] || executable?("llvm-config")

  Dir["/usr/lib/llvm-*/lib/libclang*", "/usr/lib/*/libclang*", "/usr/lib*/libclang*", "/usr/local/lib/libclang*",
      "/opt/homebrew/opt/llvm/lib/libclang*", "/Library/Developer/CommandLineTools/usr/lib/libclang*"].any?
end

workspace = File.expand_path("../..", __dir__)
rust_version = File.read(File.join(workspace, "Cargo.toml"))[/^rust-version = "(.+)"/, 1]

executable?("cargo") or
  abort "Elah's native extension is written in Rust, and cargo is missing: install Rust #{rust_version} or later from https://rustup.rs"
libclang? or
  warn "libclang was not found, and the build is likely to fail without it: on Debian and Ubuntu run `apt-get install libclang-dev`, " \
       "elsewhere install LLVM and set LIBCLANG_PATH to the folder of its libclang."

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
    \tcargo build --locked --release --package elah --manifest-path #{workspace}/Cargo.toml

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
  create_rust_makefile("elah/elah")
end
