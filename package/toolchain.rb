# frozen_string_literal: true

require "fileutils"

module Package
  ROOT = File.expand_path("..", __dir__)
  FOLDER = File.join(ROOT, "pkg")
  WORK = File.join(ROOT, "target/package")

  # Ends the process when the command fails.
  def self.run(*command, chdir: ROOT, **options)
    system(*command, chdir: chdir, **options) || abort("package: failed: #{command.grep(String).join(" ")}")
  end

  # Owns the compilers for another platform: Rust's, with zig as the compiler of C and as the linker, which brings every libc in the version that
  # is asked for.
  class Toolchain
    ZIG = "0.17.1"
    CARGO_ZIGBUILD = "0.24.0"

    # @param target [String] Rust's, with the version of glibc behind it where it has one
    # @param flags [String, nil] of rustc
    def initialize(target, flags)
      @target = target
      @flags = flags
    end

    # @param ruby [String] a command that answers for RbConfig
    # @return [String] the path of the extension
    def build(ruby, features)
      fetch
      environment = { "RUBY" => ruby, "RUSTFLAGS" => @flags, "CARGO_TARGET_DIR" => File.join(WORK, "build"),
                      "PATH" => "#{tools}/bin:#{ENV.fetch("PATH")}",
                      "CARGO_ZIGBUILD_ZIG_PATH" => File.join(tools, "ziglang/zig") }
      # Where zig stands below the current folder it names its headers from there, and each build script runs in a folder of its own.
      Package.run(environment, "cargo", "zigbuild", "--locked", "--release", "--package", "elah", "--features", features, "--target", @target,
                  "--manifest-path", File.join(ROOT, "Cargo.toml"), chdir: "/")
      File.join(WORK, "build", triple, "release/libelah.so")
    end

    private

    def tools = File.join(WORK, "tools-#{ZIG}-#{CARGO_ZIGBUILD}")
    def triple = @target.sub(/\.[\d.]+\z/, "")

    def fetch
      Package.run("rustup", "--quiet", "target", "add", triple)
      return if File.exist?(File.join(tools, "bin/cargo-zigbuild"))

      puts "package: fetching zig and cargo-zigbuild"
      Package.run("python3", "-m", "pip", "install", "--quiet", "--target", tools, "ziglang==#{ZIG}", "cargo-zigbuild==#{CARGO_ZIGBUILD}")
    end
  end
end
