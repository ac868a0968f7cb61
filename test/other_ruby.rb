# frozen_string_literal: true

require "fileutils"
require "open3"
require_relative "debian_root"
require_relative "ruby_record"

# A Ruby that this machine does not have: a Debian with it, in which a clone of the last commit is built, tested and tried. The Debian and cargo's
# folder stay in tmp/rubies.
class OtherRuby
  ROOT = File.expand_path("..", __dir__)

  # Debian compiles no library for a Ruby of experimental, so minitest would fail on plugins of the libraries that need them.
  EXPERIMENTAL = { suite: "trixie", more: ["experimental"], environment: { "MT_NO_PLUGINS" => "1" } }.freeze
  RUBIES = {
    "3.3" => { suite: "trixie", packages: [], more: [], environment: {} },
    "3.4" => { packages: %w[ruby3.4 ruby3.4-dev libruby3.4].map { |name| "#{name}/experimental" }, **EXPERIMENTAL }
  }.freeze

  # What a Ruby can change. Formatters, linters and the crates' own tests know none.
  WHOLE = %w[unit gc conformance integration apps docs].freeze

  # What every run of the tests contains: the binding and the library, the contracts of HTTP, Rack and JSON, and of the integration tests those of
  # the scheduler and of what comes in other versions with the other Debian: frameworks, gems and servers.
  CHOSEN = [
    "unit", "gc", "docs",
    *%w[http_corpus text rack_3 rails_json native_parity links_contract items_contract].map { |name| "test/conformance/#{name}_test.rb" },
    *%w[active_record api cancellation entity_workers mongo ordinary_gems rack_body_end rack_env rack_hijack rack_input rack_response rack_sinatra
        rackup rails_api redis request_isolation scheduler serve setup shutdown sink_destinations sinatra_records sql_postgresql supervisor
        waits].map { |name| "test/integration/#{name}_test.rb" }
  ].freeze

  def self.obstacle = DebianRoot.obstacle

  # @param version [String] a key of RUBIES
  def initialize(version)
    about = RUBIES[version] or raise DebianRoot::Failure, "There is no Ruby #{version} to be had; there are #{RUBIES.keys.join(', ')}."
    @version = version
    @folder = File.join(ROOT, "tmp/rubies", version)
    @environment = about[:environment]
    @packages = about[:packages]
    @debian = DebianRoot.new(about[:suite], @folder, packages: packages_of(about[:suite]) + @packages, more: about[:more])
  end

  # @param words [Array<String>] as `bin/test` accepts them; without any all is run and recorded
  def test(words)
    whole = words.empty?
    words = ["--record", *WHOLE, *Dir.glob("test/fuzz/*_test.rb", base: ROOT)] if whole
    inside("The tests failed on Ruby #{@version}", "bin/test", *words)
  ensure
    keep_record if whole && @root
  end

  # @param words [Array<String>] as `bin/try` accepts them
  def try(words) = inside("bin/try failed on Ruby #{@version}", "bin/try", *words)

  private

  def inside(failure, *command)
    obstacle = DebianRoot.obstacle and raise DebianRoot::Failure, "This cannot run here: #{obstacle}."
    @debian.exclusively do
      @root = @debian.root
      prepare
      mounts = { File.join(@folder, "target") => "/elah/target" }
      DebianRoot.run(failure, *DebianRoot.enter(@root, "sh", "-c", 'cd /elah; exec "$@"', "sh", *command, mounts: mounts, environment: @environment))
    end
  end

  def packages_of(suite)
    out, status = Open3.capture2(File.join(ROOT, "bin/setup"), "--packages", suite)
    raise DebianRoot::Failure, "bin/setup names no packages for #{suite}." unless status.success?

    out.split
  end

  # The files that are as they were stay untouched, so that cargo builds what has changed.
  def prepare
    @debian.lend_network(@root)
    FileUtils.rm_rf(Dir.glob(File.join(@root, "tmp/*"), File::FNM_DOTMATCH).grep_v(%r{/\.\.?\z}))
    FileUtils.ln_sf("/usr/bin/ruby#{@version}", File.join(@root, "usr/local/bin/ruby")) if @packages.any?
    clone = ["git", "-C", File.join(@root, "elah"), "-c", "advice.detachedHead=false"]
    failure = "The checkout could not be cloned"
    DebianRoot.run(failure, "git", "init", "--quiet", File.join(@root, "elah"))
    DebianRoot.run(failure, *clone, "fetch", "--quiet", "--depth", "1", "file://#{ROOT}", "HEAD")
    DebianRoot.run(failure, *clone, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
    DebianRoot.run(failure, *clone, "clean", "-ffdxq")
  end

  def keep_record
    record = File.join(@root, "elah", RubyRecord::FOLDER, "#{@version}.json")
    return unless File.file?(record)

    FileUtils.cp(record, File.join(ROOT, RubyRecord::FOLDER))
    RubyRecord.fill_readme(ROOT)
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  what, version, *words = ARGV
  begin
    ruby = OtherRuby.new(version)
    what == "try" ? ruby.try(words) : ruby.test(words)
  rescue DebianRoot::Failure => e
    abort e.message
  rescue Interrupt
    exit 130
  end
end
