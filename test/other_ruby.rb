# frozen_string_literal: true

require "fileutils"
require "open3"
require_relative "debian_root"
require_relative "ruby_record"
require_relative "ruby_source"

# A Ruby that this machine does not have: a Debian with it, or one in which it is built from its source. There a clone
# of the last commit is built, tested and tried. The Debian and the folders of the builds stay in tmp/rubies.
class OtherRuby
  ROOT = File.expand_path("..", __dir__)
  SUITE = "trixie"

  # Which packages beside those of the tests, of which more suites, and with which variables. Debian compiles libraries
  # for its own Ruby alone: the other one finds those that are Ruby only. Minitest would fail on plugins of the rest.
  RUBIES = {
    "3.3" => { packages: [], more: [], environment: {} },
    "3.4" => { packages: %w[ruby3.4/experimental ruby3.4-dev/experimental libruby3.4/experimental],
               more: ["experimental"], environment: { "MT_NO_PLUGINS" => "1" } }
  }.freeze

  # Its tests run with YJIT: without it a Ruby of Debian is as good.
  FROM_SOURCE = { packages: RubySource::PACKAGES, more: [],
                  environment: { **RubySource::ENVIRONMENT, "MT_NO_PLUGINS" => "1" } }.freeze

  # What every run of the tests contains: the binding and the library, the contracts of HTTP, Rack and JSON, and of the
  # integration tests those of the scheduler and of what comes in other versions with the other Debian: frameworks, gems
  # and servers.
  CHOSEN = [
    "unit", "docs",
    *%w[http_corpus items_contract links_contract native_parity rack_3 rails_json text].map do |name|
      "test/conformance/#{name}_test.rb"
    end,
    *%w[active_record api cancellation entity_workers mongo ordinary_gems rack_body_end rack_env rack_hijack rack_input
        rack_response rack_sinatra rackup rails_api rails_features rails_pool rails_server redis request_isolation
        scheduler serve setup shutdown sink_destinations sql_postgresql supervisor waits].map do |name|
      "test/integration/#{name}_test.rb"
    end
  ].freeze

  def self.obstacle = DebianRoot.obstacle

  # @param version [String] a key of RUBIES, or the absolute path of a folder with Ruby's source
  def initialize(version)
    @source = RubySource.in(version)
    about = @source ? FROM_SOURCE : RUBIES.fetch(version) { raise DebianRoot::Failure, unknown(version) }
    @version = @source&.version || version
    @folder = File.join(ROOT, "tmp/rubies", @version)
    @environment = about[:environment]
    @debian = DebianRoot.new(SUITE, @folder, packages: test_packages + about[:packages], more: about[:more])
  end

  # The steps that run are recorded.
  # @param words [Array<String>] as `bin/test` accepts them; without any all that a Ruby can change
  def test(words)
    words = [*RubyRecord::STEPS, *Dir.glob("test/fuzz/*_test.rb", base: ROOT)] if words.empty?
    inside("The tests failed on Ruby #{@version}", "bin/test", "--record", *words)
  end

  # Runs what every run of the tests contains, and records nothing.
  def check = inside("The tests failed on Ruby #{@version}", "bin/test", *CHOSEN)

  # @param words [Array<String>] as `bin/try` accepts them
  def try(words) = inside("bin/try failed on Ruby #{@version}", "bin/try", *words)

  # @yield while no other process uses this Ruby, and it has a clone of the last commit
  def exclusively
    obstacle = DebianRoot.obstacle and raise DebianRoot::Failure, "This cannot run here: #{obstacle}."
    @debian.exclusively do
      @root = @debian.root
      @debian.lend_network(@root)
      install
      clone
      yield
    end
  end

  # @return [String] the clone, as this machine names it
  def checkout = File.join(@root, "elah")

  # @param target [String] a folder of cargo's, beside the root
  # @param environment [Hash{String=>String, nil}]
  # @return [Array<String>] a command that runs the command in the clone
  def enter(*command, target: "target", environment: {})
    DebianRoot.enter(@root, "sh", "-c", 'cd /elah; exec "$@"', "sh", *command,
                     mounts: { File.join(@folder, target) => "/elah/target" },
                     environment: { **@environment, **environment })
  end

  private

  def inside(failure, *command)
    exclusively do
      bring_record
      DebianRoot.run(failure, *enter(*command, environment: @source ? { "RUBYOPT" => "--yjit" } : {}))
    ensure
      keep_record if command.include?("--record")
    end
  end

  def unknown(version)
    "There is no Ruby #{version} to be had; there are #{RUBIES.keys.join(', ')}, and absolute paths of Ruby's source."
  end

  def install
    return @source.install(@root, File.join(@folder, "build")) if @source

    FileUtils.ln_sf("/usr/bin/ruby#{@version}", File.join(@root, "usr/local/bin/ruby"))
  end

  # In a checkout.
  def record = File.join(RubyRecord::FOLDER, RubyRecord.file_name(@version, @source))

  def test_packages
    out, status = Open3.capture2(File.join(ROOT, "bin/setup"), "--packages", SUITE)
    raise DebianRoot::Failure, "bin/setup names no packages for #{SUITE}." unless status.success?

    out.split
  end

  # The files that are as they were stay untouched, so that cargo builds what has changed.
  def clone
    FileUtils.rm_rf(Dir.children(File.join(@root, "tmp")).map { |name| File.join(@root, "tmp", name) })
    git = ["git", "-C", checkout, "-c", "advice.detachedHead=false"]
    failure = "The checkout could not be cloned"
    DebianRoot.run(failure, "git", "init", "--quiet", checkout)
    DebianRoot.run(failure, *git, "fetch", "--quiet", "--depth", "1", "file://#{ROOT}", "HEAD")
    DebianRoot.run(failure, *git, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
    DebianRoot.run(failure, *git, "clean", "-ffdxq")
  end

  # What this run adds to may not be committed yet.
  def bring_record
    return unless Dir.exist?(RubyRecord::FOLDER)

    FileUtils.cp_r(RubyRecord::FOLDER, File.join(checkout, "test"))
    RubyRecord.fill_readme(checkout)
  end

  def keep_record
    made = File.join(checkout, record)
    FileUtils.mkdir_p(RubyRecord::FOLDER)
    FileUtils.cp(made, record) if File.file?(made)
    RubyRecord.fill_readme(ROOT)
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  Dir.chdir(OtherRuby::ROOT)
  what, version, *words = ARGV
  begin
    ruby = OtherRuby.new(version)
    case what
    when "try" then ruby.try(words)
    when "check" then ruby.check
    else ruby.test(words)
    end
  rescue DebianRoot::Failure => e
    abort e.message
  rescue Interrupt
    exit 130
  end
end
