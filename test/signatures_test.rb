# frozen_string_literal: true

# sig/ is what the comments say, RBS accepts it, it has every public method, and calls fit it.
require "test_helper"
require "open3"
require "rbs"
require "elah/server/placement/supervised"
require_relative "../bin/lib/signatures"

class SignaturesTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)
  FILES = Signatures::Files.new(ROOT)
  TEXTS = FILES.texts
  LIBRARIES = Signatures::LIBRARIES.flat_map { |name| ["-r", name] }.freeze

  # Tests whose calls are checked against the signatures. Each runs in a process that checks every call.
  CHECKED = %w[
    test/unit/api/headers_test.rb test/unit/api/params_test.rb test/unit/api/streaming_test.rb
    test/unit/concurrency/deadline_test.rb
    test/unit/concurrency/gather_test.rb test/unit/concurrency/offload_test.rb test/unit/concurrency/semaphore_test.rb
    test/unit/store/table_test.rb test/unit/store/transaction_test.rb
  ].freeze

  # The RBS of Ruby 3.1.2 has no type for the self of a block.
  def needs_rbs
    skip "sig/ needs RBS 2.7, and this is #{RBS::VERSION}" if Gem::Version.new(RBS::VERSION) < Gem::Version.new("2.7")
  end

  def rbs(*arguments)
    needs_rbs
    Open3.capture2e(RbConfig.ruby, Gem.bin_path("rbs", "rbs"), *LIBRARIES, "-I", "sig", *arguments, chdir: ROOT)
  end

  def definitions
    needs_rbs
    @definitions ||= begin
      loader = RBS::EnvironmentLoader.new
      Signatures::LIBRARIES.each { |name| loader.add(library: name, version: nil) }
      loader.add(path: Pathname(ROOT).join("sig"))
      RBS::DefinitionBuilder.new(env: RBS::Environment.from_loader(loader).resolve_type_names)
    end
  end

  def test_no_comment_leaves_a_type_open
    assert_empty FILES.gaps
  end

  def test_sig_is_current
    paths = Dir.glob("**/*.*", base: File.join(ROOT, "sig"))
    written = paths.to_h { |path| [path, File.read(File.join(ROOT, "sig", path))] }
    assert_equal TEXTS.keys, written.keys.sort, "run bin/signatures"
    assert_empty(TEXTS.keys.reject { |path| TEXTS[path] == written[path] }, "run bin/signatures")
  end

  def test_rbs_accepts_it
    [%w[validate --silent], %w[parse sig]].each do |arguments|
      out, status = rbs(*arguments)
      assert_predicate status, :success?, out
    end
  end

  def test_rbs_refuses_an_unknown_class
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "wrong.rbs"), "module Elah\n  def self.wrong: () -> Elah::Missing\nend\n")
      _, status = rbs("-I", folder, "validate", "--silent")
      refute_predicate status, :success?
    end
  end

  # What runs is compared, so that a native method without a comment shows too.
  def test_every_public_method_has_a_signature
    needs_rbs
    objects = FILES.public_objects
    assert_operator objects.size, :>, 150
    missing = objects.flat_map do |path, object|
      space = Object.const_get(path)
      name = RBS::TypeName.new(name: object.name, namespace: RBS::Namespace.parse("::#{path.rpartition('::').first}::"))
      missing_of(object, "#", space.public_instance_methods(false), definitions.build_instance(name)) +
        missing_of(object, ".", space.singleton_methods(false), definitions.build_singleton(name))
    end
    assert_empty missing
  end

  def missing_of(object, separator, methods, definition)
    methods = methods.reject { |method| definition.methods.key?(method) || method.start_with?("_") }
    methods = methods.reject { |method| hidden?(object, separator, method) }
    methods.map { |method| "#{object.path}#{separator}#{method}" }
  end

  # Methods of the framework, and what every Struct has.
  def hidden?(object, separator, method)
    found = YARD::Registry.at("#{object.path}#{separator}#{method}")
    return true if found && FILES.hidden?(found)

    object.superclass.path == "Struct" && (method.end_with?("=") || method == :[]) if object.type == :class
  end

  CHECKED.each do |file|
    define_method("test_the_calls_of_#{file}_fit") { assert_predicate(*checked(file)) }
  end

  def test_a_call_that_does_not_fit_is_found
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "sink_test.rb"), <<~RUBY)
        require "test_helper"
        class WrongTest < Minitest::Test
          def test_wrong = Elah::Form.parse("a=b", semicolons: nil)
        end
      RUBY
      status, _, out = checked(File.join(folder, "sink_test.rb"))
      refute_predicate status, :success?
      assert_includes out, "expected `bool` but given `nil`"
    end
  end

  # @return [Array] for assert_predicate
  def checked(file)
    needs_rbs
    env = { "RBS_TEST_TARGET" => "Elah,Elah::*", "RBS_TEST_OPT" => [*LIBRARIES, "-I", "sig"].join(" "),
            "RBS_TEST_RAISE" => "true", "RBS_TEST_LOGLEVEL" => "error", "RBS_TEST_SAMPLE_SIZE" => "10" }
    command = [RbConfig.ruby, "-EUTF-8", "-Ilib", "-Itest", "-r", "support/checked_calls", file]
    out, status = Open3.capture2e(env, *command, chdir: ROOT)
    [status, :success?, out]
  end
end
