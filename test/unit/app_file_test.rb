# frozen_string_literal: true

# How an app gets out of its file, and what is said when it does not.
require "test_helper"
require "tmpdir"

class AppFileTest < Minitest::Test
  def in_folder(files)
    Dir.mktmpdir do |folder|
      files.each { |name, source| File.write(File.join(folder, name), source) }
      Dir.chdir(folder) { yield folder }
    end
  end

  def load(source, name = "app.rb") = in_folder(name => source) { Elah::AppFile.load(name) }

  def refuse(source, name = "app.rb") = assert_raises(Elah::AppFileError) { load(source, name) }.message

  def test_a_ruby_file_runs_its_app
    assert_equal [204, {}, []], load("run ->(env) { [204, {}, []] }").call({})
  end

  def test_a_ruby_file_is_ordinary_ruby
    part = "AppFileTestPart = Struct.new(:file, :dir, :config) { def call(env) = [200, {}, [env]] }"
    in_folder("app.rb" => "require_relative 'part'\nrun AppFileTestPart.new(__FILE__, __dir__, Elah::Config)",
              "part.rb" => part) do |folder|
      app = Elah::AppFile.load("app.rb")
      assert_equal [File.realpath("app.rb"), File.realpath(folder), Elah::Config],
                   [File.realpath(app.file), File.realpath(app.dir), app.config]
      assert_equal "AppFileTestPart", app.class.name
    end
  end

  def test_run_is_gone_after_the_file
    load("run ->(env) {}")
    assert_raises(NoMethodError) { TOPLEVEL_BINDING.receiver.run(1) }
    assert_raises(ArgumentError) { load("raise ArgumentError, 'broken'") }
    assert_raises(NoMethodError) { TOPLEVEL_BINDING.receiver.run(1) }
  end

  def test_a_rackup_file_goes_through_rack
    app = load("use(Class.new { def initialize(app) = @app = app\n def call(env) = @app.call(env + 1) })\n" \
               "run ->(env) { [env, {}, []] }", "config.ru")
    assert_equal [42, {}, []], app.call(41)
  end

  # Each request was a 500 then, also after a restart, whose trial run had passed.
  def test_a_wrong_definition_within_what_stands_around_an_api_is_found
    wrong = 'Class.new(Elah::API) { get("x/:id", requirements: { id: /\X/ }) { 1 } }'
    ["use Rack::Head\nrun #{wrong}", "map('/') { run #{wrong} }", "run Rack::Cascade.new([->(_) {}, #{wrong}])",
     "run Rack::URLMap.new('/a' => BasicObject.new, '/b' => #{wrong})"].each do |source|
      app = load(source, "config.ru")
      error = assert_raises(Elah::API::DefinitionError) { Elah::AppFile.compile(app) }
      assert_match(/requirement of "id"/, error.message)
    end
  end

  # The look made their middleware, or raised what they raise.
  def test_apps_that_cannot_be_looked_into_are_left_alone
    require "rack"
    builder = Rack::Builder.new { use(nil) && run(->(_) {}) }
    named = Class.new do
      def self.name(_one) = nil
      def respond_to_missing?(*) = raise
    end.new
    [builder, named, Rack::Head.new(named), Rack::Head.new(builder)].each { |app| Elah::AppFile.compile(app) }
    assert_raises(NoMethodError) { builder.to_app }
  end

  def test_apps_that_are_within_each_other_are_looked_at_once
    app = load("class AppFileTestRing\n attr_accessor :app\n def call(env) = @app.call(env)\nend\n" \
               "run AppFileTestRing.new.tap { |one| one.app = Rack::Head.new(one) }", "config.ru")
    parts = []
    Elah::AppParts.each(app) { |part, _| parts << part.class.name }
    assert_equal ["AppFileTestRing", "Rack::Head"], parts
  end

  def test_without_a_name_app_rb_comes_before_config_ru
    in_folder("app.rb" => "run ->(_) { :app }", "config.ru" => "run ->(_) { :ru }") do
      assert_equal :app, Elah::AppFile.load.call({})
      File.delete("app.rb")
      assert_equal :ru, Elah::AppFile.load.call({})
      File.delete("config.ru")
      assert_match(/No app\.rb or config\.ru/, assert_raises(Elah::AppFileError) { Elah::AppFile.load }.message)
    end
  end

  def test_of_a_folder_the_app_file_in_it_is_named
    in_folder("config.ru" => "run 1") do |folder|
      FileUtils.mkdir("src")
      error = assert_raises(Elah::AppFileError) { Elah::AppFile.load(".") }
      assert_equal "#{folder} is a folder: name the app file in it, #{folder}/config.ru.", error.message
      FileUtils.touch("app.rb")
      assert_match(%r{in it, .*/app\.rb\.\z}, assert_raises(Elah::AppFileError) { Elah::AppFile.load(folder) }.message)
      assert_match(%r{/src is a folder: name the app file in it\.\z},
                   assert_raises(Elah::AppFileError) { Elah::AppFile.load("src") }.message)
    end
  end

  def test_errors_say_what_to_write
    assert_match(/end it with `run MyAPI`/, refuse("1"))
    assert_match(/calls `run` 2 times/, refuse("run ->(_) {}\nrun ->(_) {}"))
    assert_match(/not an app: `run` accepts/, refuse("run 'text'"))
    assert_match(/runs nil, which is not an app: `run` accepts/, refuse("run nil"))
    assert_match(/must end in \.rb or \.ru/, refuse("", "app.py"))
    error = assert_raises(Elah::AppFileError) { Elah::AppFile.load("nothing.rb") }
    assert_match(/App file .*nothing\.rb does not exist/, error.message)
  end

  # An author saw forty lines, of which one was the app's.
  def test_errors_of_the_file_show_its_own_lines_alone
    error = assert_raises(RuntimeError) { load("def broken = raise('no database')\nbroken") }
    assert_equal [1, 2], error.backtrace.map { |line| line[/app\.rb:(\d+)/, 1].to_i }
    assert_empty assert_raises(SyntaxError) { load("run(\n") }.backtrace
    error = assert_raises(RuntimeError) { load("begin\n  raise 'first'\nrescue => e\n  raise 'second'\nend") }
    assert_equal [2, 4], [error.cause, error].map { |one| one.backtrace.first[/app\.rb:(\d+)/, 1].to_i }
    assert_empty [error.cause, error].flat_map(&:backtrace).grep_v(/app\.rb/)
  end

  def test_the_error_of_a_definition_names_its_line
    source = <<~RUBY
      class AppFileTestAPI < Elah::API
        params { requires :a, type: Integer, values: ['x'] }
        get(:x) { 1 }
      end
      run AppFileTestAPI
    RUBY
    error = assert_raises(Elah::API::DefinitionError) { load(source) }
    assert_match(/\Atype: Integer is incompatible with values: \["x"\]\. \(.*app\.rb:2\)\z/, error.message)
  end

  def test_errors_of_the_file_keep_their_class_and_line
    error = assert_raises(SyntaxError) { load("run(\n") }
    assert_match(/app\.rb:/, error.message)
    error = assert_raises(NameError) { load("\nAppFileTestNowhere") }
    assert_match(/app\.rb:2/, error.backtrace.first)
  end
end
