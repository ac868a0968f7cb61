# frozen_string_literal: true

require "test_helper"
require_relative "../../support/lab_case"

class LabCatalogueTest < Minitest::Test
  include LabCase

  ENTRY = { "title" => "One", "kind" => "Ruby", "run" => %w[one {port}], "version" => %w[one -v],
            "workloads" => ["hello"] }.freeze

  def test_every_entry_names_workloads_that_exist_and_has_its_folder
    all = Lab::Catalogue.new
    all.contenders.each_value do |contender|
      assert(all.workloads.values.any? { |workload| contender.does?(workload) }, contender.name)
      assert File.directory?(contender.folder), "#{contender.name} has no folder" unless contender.name == "bare_hyper"
      all.workloads.values.select { |workload| contender.does?(workload) }.each do |workload|
        assert(contender.run_command(workload, port: 1, data: "d").all?(String), contender.name)
      end
    end
  end

  def test_every_workload_names_cases_of_its_contract
    Lab::Catalogue.new.workloads.each_value { |workload| Lab::ContractCheck.new(workload) }
  end

  def test_settings_may_differ_by_workload_and_be_several_words_or_none
    entry = ENTRY.merge("run" => ["one", "{port}", "{more}", "--n={n}"], "settings" => { "more" => [], "n" => 1 },
                        "settings_for" => { "sleep" => { "more" => %w[a b] } })
    contender = Lab::Contender.new("one", entry)
    hello, waiting = %w[hello sleep].map { |name| Lab::Catalogue.new.workloads[name] }
    assert_equal %w[one 80 --n=1], contender.run_command(hello, port: 80)
    assert_equal %w[one 80 a b --n=1], contender.run_command(waiting, port: 80)
  end

  def test_settings_of_an_api_hold_on_every_store_unless_the_workload_has_its_own
    entry = ENTRY.merge("run" => ["one", "{app}", "{more}"], "settings" => { "app" => "plain", "more" => [] },
                        "settings_for" => { "links" => { "app" => "links.rb" },
                                            "links_redis" => { "more" => %w[--store {store}] } })
    contender = Lab::Contender.new("one", entry)
    embedded, redis = %w[links links_redis].map { |name| Lab::Catalogue.new.workloads[name] }
    assert_equal %w[one links.rb], contender.run_command(embedded)
    assert_equal %w[one links.rb --store redis://x], contender.run_command(redis, store: "redis://x")
  end

  def test_requests_with_bodies_are_lines_of_verb_path_and_json
    { "links_writes" => %r{\APOST\t/links\t\{"target":},
      "stats_writes" => %r{\APOST\t/stats\t\{"event":} }.each do |name, form|
      lines = File.readlines(Lab::Workloads.for(name).paths_file)
      assert_operator lines.size, :>, 100
      assert(lines.all? { |line| line.match?(form) && JSON.parse(line.split("\t").last) }, name)
    end
  end

  def test_what_is_wrong_with_an_entry_is_said
    { ENTRY.merge("rum" => []) => /unknown key rum; the keys are/,
      ENTRY.reject { |key, _| key == "run" } => /one lacks run/,
      ENTRY.merge("run" => ["{prot}"]) => /\{prot\}, which is neither a setting/,
      nil => /no mapping/ }.each do |entry, message|
      assert_match message, assert_raises(Lab::Error) { Lab::Contender.new("one", entry) }.message
    end
    { LabCase::WORKLOAD.merge("headline" => 5) => /headline of hello is 5/,
      LabCase::WORKLOAD.reject { |key, _| key == "path" } => /either path or data/,
      LabCase::WORKLOAD.merge("cases" => ["none"]) => /names the case "none"/ }.each do |entry, message|
      error = assert_raises(Lab::Error) { Lab::ContractCheck.new(Lab::Workload.new("hello", entry)) }
      assert_match message, error.message
    end
  end

  def test_unknown_names_are_answered_with_the_known_ones
    all = catalogue("honest")
    error = assert_raises(Lab::Error) { all.pick_contenders(["puma"]) }
    assert_match(/no contender puma; there are honest/, error.message)
    assert_equal ["hello"], all.pick_workloads([]).map(&:name)
  end

  def test_a_gem_that_only_rubygems_has_is_named
    contender = Lab::Contender.new("one", ENTRY.merge("needs" => { "gems" => { "no-such-gem" => ">= 1" } }))
    error = assert_raises(Lab::Error) { Lab::Setup.new(install: false) { nil }.contender(contender) }
    assert_match(/only RubyGems has no-such-gem >= 1/, error.message)
  end

  def test_a_version_is_proved_or_the_contender_is_out
    setup = Lab::Setup.new(install: false) { nil }
    version = setup.contender(Lab::Contender.new("one", ENTRY.merge("version" => %w[ruby --version])))
    assert_equal RUBY_VERSION, version[/\d+\.\d+\.\d+/]
    silent = Lab::Contender.new("one", ENTRY.merge("version" => %w[echo none]))
    error = assert_raises(Lab::Error) { setup.contender(silent) }
    assert_match(/names no version: none/, error.message)
    lacking = Lab::Contender.new("one", ENTRY.merge("needs" => { "commands" => ["no-such-command"] }))
    error = assert_raises(Lab::Error) { setup.contender(lacking) }
    assert_match(/the command no-such-command is missing/, error.message)
  end
end
