# frozen_string_literal: true

# The gem's extconf.rb: what is missing is named with its remedy before anything is built, and options choose the
# native clients.
require "test_helper"
require "open3"
require "tmpdir"

class ExtconfTest < Minitest::Test
  EXTCONF = File.expand_path("../../ext/elah/extconf.rb", __dir__)

  # What it needs in the path, beside a shell.
  COMMANDS = %w[sh cargo cc gcc].freeze
  RUSTUP = { "RUSTUP_HOME" => ENV.fetch("RUSTUP_HOME", File.join(Dir.home, ".rustup")),
             "CARGO_HOME" => ENV.fetch("CARGO_HOME", File.join(Dir.home, ".cargo")) }.freeze

  # Runs it in a new folder, with these commands alone in the path and `prelude` run before it.
  #
  # @return [Array(Integer, String, String)] status, output, and the Makefile's text or nil
  def extconf(*arguments, commands: COMMANDS, scripts: {}, prelude: "")
    Dir.mktmpdir do |folder|
      bin = File.join(folder, "bin")
      Dir.mkdir(bin)
      (commands - scripts.keys).each { |name| File.symlink(path_of(name), File.join(bin, name)) }
      scripts.each { |name, script| File.write(File.join(bin, name), "#!/bin/sh\n#{script}\n", perm: 0o755) }
      File.write(File.join(folder, "prelude.rb"), prelude)
      environment = { "PATH" => bin, "LIBCLANG_PATH" => nil, **RUSTUP }
      command = [RbConfig.ruby, "-W0", "-r./prelude", EXTCONF, *arguments]
      out, status = Open3.capture2e(environment, *command, chdir: folder)
      makefile = File.join(folder, "Makefile")
      [status.exitstatus, out, File.file?(makefile) ? File.read(makefile) : nil]
    end
  end

  def path_of(command)
    ENV["PATH"].split(":").map { |folder| File.join(folder, command) }.find { |path| File.executable?(path) }
  end

  def refuse(sentence, **options)
    status, out, makefile = extconf(**options)
    assert_equal "#{sentence}\n", out
    assert_equal 1, status
    assert_nil makefile
  end

  def features(*arguments)
    status, out, makefile = extconf(*arguments)
    assert_equal 0, status, out
    makefile[/--features "([^"]*)"/, 1] || makefile[/--features[ =](\S+)/, 1]
  end

  def test_options_choose_the_clients
    assert_equal "redis sql", features
    assert_equal "redis sql mongo", features("--with-redis", "--with-mongo")
    assert_equal "sql parquet", features("--without-redis", "--with-parquet")
    assert_equal "", features("--without-redis", "--without-sql")
  end

  def test_the_features_are_those_of_the_extension
    manifest = File.read(File.expand_path("../../ext/elah/Cargo.toml", __dir__))
    assert_equal manifest[/^clients = \[(.*)\]$/, 1].scan(/\w+/), features("--with-mongo", "--with-parquet").split
  end

  def test_a_missing_cargo
    refuse "Elah's native extension is written in Rust, and cargo is missing: " \
           "install Rust 1.89 or later from https://rustup.rs",
           commands: COMMANDS - ["cargo"]
  end

  def test_an_old_rust
    refuse "Elah needs Rust 1.89 or later, and cargo is older: " \
           "run `rustup update`, or install it from https://rustup.rs",
           scripts: { "cargo" => "echo 'cargo 1.63.0'" }
  end

  # That of rustup without a toolchain.
  def test_a_cargo_without_a_version
    refuse "Elah needs Rust 1.89 or later, and cargo is older: " \
           "run `rustup update`, or install it from https://rustup.rs",
           scripts: { "cargo" => "exit 1" },
           prelude: "Gem::Version.singleton_class.prepend(Module.new { def new(text) = super(text || raise) })"
  end

  def test_a_missing_compiler_of_c
    refuse "A C compiler is missing, which links Elah's native extension: " \
           "on Debian and Ubuntu run `apt-get install gcc libc6-dev`.",
           commands: COMMANDS - %w[cc gcc]
  end

  def test_missing_headers
    refuse "The headers of Ruby #{RUBY_VERSION} are missing (ruby.h): " \
           "on Debian and Ubuntu run `apt-get install ruby-dev`.",
           prelude: %(require "rbconfig"; RbConfig::CONFIG["rubyhdrdir"] = "/nowhere")
  end

  # A prelude with which no files of this name are found.
  def without(name)
    <<~RUBY
      nowhere = Module.new { def [](*patterns) = patterns.first.include?("/#{name}") ? [] : super }
      Dir.singleton_class.prepend(nowhere)
    RUBY
  end

  def test_a_missing_libclang
    refuse "libclang is missing, which reads the headers of Ruby: " \
           "on Debian and Ubuntu run `apt-get install libclang-dev`, " \
           "elsewhere install LLVM and set LIBCLANG_PATH to the folder of its libclang.", prelude: without("libclang")
  end

  # Debian has a package of the library alone.
  def test_a_libclang_without_its_headers
    refuse "The headers of libclang are missing (stddef.h): " \
           "on Debian and Ubuntu run `apt-get install libclang-dev`, elsewhere install clang.",
           prelude: without("clang/*/include")
  end

  def test_a_ruby_that_is_too_old
    refuse "Elah needs Ruby 3.1 or later, and this is 3.0.7: install a later Ruby.",
           prelude: 'Object.send(:remove_const, :RUBY_VERSION); RUBY_VERSION = "3.0.7"'
  end

  def test_another_implementation_of_ruby
    refuse "Elah runs on CRuby, and this is jruby: install it with CRuby 3.1 or later.",
           prelude: 'Object.send(:remove_const, :RUBY_ENGINE); RUBY_ENGINE = "jruby"'
  end
end
