# frozen_string_literal: true

# A case for every "never" of ARCHITECTURE.md. A failure names the file and the line that broke the rule.
require "test_helper"
require "json"
require "open3"
require "ripper"
require_relative "support/module_graph"

class ArchitectureTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)

  # Functions of Ruby's C API that neither raise nor run Ruby code. `ruby/raising.rs` has the others.
  CALLS_THAT_NEVER_RAISE = %w[
    rb_ascii8bit_encindex rb_enc_from_encoding rb_enc_str_coderange rb_float_value rb_gc_writebarrier rb_sym2str
    rb_thread_current rb_thread_main rb_usascii_encindex rb_utf8_encindex rb_utf8_encoding ruby_stack_check
  ].freeze

  # The crates of which a server is made. Clients of databases and the programs of tests and benchmarks are not among
  # them.
  CORE = "crates/elah-" \
         "{clock,cluster,form,http,journal,json,lease-pool,links,loop,permutation,ranked-set,scoreboard,store}"

  # The only files of the core that may hold `unsafe`: descriptors that tokio did not open, mapped files, and the memory
  # of large ranked sets.
  UNSAFE_FILES = %w[
    http/src/peers.rs journal/src/segment.rs loop/src/descriptor_watch.rs loop/src/shutdown_watchdog.rs
    ranked-set/src/arena.rs scoreboard/src/map.rs store/src/env.rs store/src/fork.rs store/src/journal.rs
  ].freeze

  # The only files that may ask for the time of day: log lines, the start of a lease pool's clock, expiries in the
  # store, the moment of a backup, the name of a journal, the Date header, the number of a generation.
  WALL_CLOCK_FILES = %w[
    lib/elah/server/log.rb lib/elah/server/pidfile.rb lib/elah/server/placement/single.rb lib/elah/store/clock.rb
    lib/elah/collections/lease_pool/clock.rb lib/elah/store/backup/contents.rb
    clock/src/lib.rs store/src/journal.rs http/src/connection.rs loop/src/shutdown_watchdog.rs
  ].freeze

  # Where the library names frameworks that an app may have loaded.
  ADAPTERS = Dir["lib/elah/clients/adapters{.rb,/**/*.rb}", base: File.expand_path("..", __dir__)].freeze

  # Instance variables that the extension sets, that belong to objects of other libraries, or that are set by name.
  SET_ELSEWHERE = %w[
    handle mapping raw_connection connection elah_named_params journal_bytes_max sync_seconds event_bytes_max sinks buf
  ].freeze

  # Exceptions by which the library leaves a block: no error, so that no `rescue` of an app meets them.
  CONTROL_FLOW = %w[Elah::Framework::Halt].freeze

  # Lines of the files that match, without those of a Rust file's own tests, as [file, number, text].
  def lines(pattern)
    Dir.chdir(ROOT) { Dir[pattern] }.flat_map do |file|
      text = File.read(File.join(ROOT, file))
      text = text.split(/^#\[cfg\(test\)\]\s*\n(?:#.*\n)*mod \w+ \{/).first if file.end_with?(".rs")
      text.lines.each.with_index(1).map { |line, number| [file, number, line] }
    end
  end

  def code_lines(pattern) = lines(pattern).reject { |_, _, text| text.match?(%r{\A\s*(#|//)}) }

  def refute_found(pattern, regexp, reason, except: [])
    found = code_lines(pattern).select do |file, _, text|
      text.match?(regexp) && except.none? { |path| file.end_with?(path) }
    end
    assert_empty found.map { |file, number, text| "#{file}:#{number}: #{text.strip}" }, reason
  end

  # Names of the packages that a workspace package is built from, itself left out.
  def dependencies(package)
    @metadata ||= begin
      host = `rustc -vV`[/^host: (.*)/, 1]
      json, status = Open3.capture2("cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", host,
                                    chdir: ROOT)
      assert_predicate status, :success?
      JSON.parse(json)
    end
    names = @metadata["packages"].to_h { |entry| [entry["id"], entry["name"]] }
    nodes = @metadata["resolve"]["nodes"].to_h { |node| [node["id"], node["deps"]] }
    seen = []
    queue = [names.key(package)]
    while (id = queue.shift)
      built = nodes.fetch(id).select { |dependency| dependency["dep_kinds"].any? { |kind| kind["kind"] != "dev" } }
      queue.concat(built.map { |dependency| dependency["pkg"] } - seen)
      seen |= queue
    end
    names.values_at(*seen)
  end

  def test_the_core_never_knows_ruby
    core = Dir.chdir(ROOT) { Dir[CORE] }.flat_map { |folder| dependencies(File.basename(folder)) }
    assert_includes core, "hyper", "the walk over the dependencies finds something"
    assert_empty core.grep(/\A(magnus|rb-sys)/)
    assert_includes dependencies("elah"), "magnus"
  end

  # The crates from the bottom up: each uses those above it in this list alone. Tests and the programs of benchmarks may
  # use all.
  LAYERS = %w[
    elah-clock elah-form elah-json elah-permutation elah-loop elah-scoreboard elah-cluster elah-store elah-journal
    elah-ranked-set elah-lease-pool elah-links elah-http elah-clients elah-cluster-postgres
  ].freeze

  def test_arrows_between_crates_go_one_way
    found = Dir.chdir(ROOT) { Dir["crates/*"] }.map { |folder| File.basename(folder) } - %w[elah-fuzz elah-load]
    assert_equal LAYERS.sort, found.sort
    upwards = LAYERS.each_with_index.to_h do |crate, index|
      [crate, (ModuleGraph.new(File.join(ROOT, "crates", crate)).crates & LAYERS.drop(index + 1))]
    end
    assert_empty upwards.reject { |_, others| others.empty? }
    assert_includes ModuleGraph.new(File.join(ROOT, "crates/elah-http")).crates, "elah-loop",
                    "the look at the paths finds something"
  end

  def test_files_of_a_crate_never_use_each_other_in_a_circle
    folders = [*LAYERS.map { |crate| "crates/#{crate}" }, "ext/elah"]
    graphs = folders.to_h { |folder| [folder, ModuleGraph.new(File.join(ROOT, folder))] }
    assert_includes graphs["crates/elah-http"].edges.fetch("connection"), "guarded_socket",
                    "the look at the paths finds something"
    assert_includes graphs["ext/elah"].edges.fetch("concurrency/event_loop"), "server/request"
    assert_empty(graphs.transform_values(&:circles).reject { |_, circles| circles.empty? })
  end

  def test_the_json_cursor_stands_alone
    assert_empty dependencies("elah-json").grep(/\Aelah-/)
    refute_found "crates/elah-json/src/**/*.rs", /\bunsafe\b(?!_code)/, "nothing of it needs unsafe code"
  end

  def test_lease_pools_know_neither_ruby_nor_the_core
    assert_empty dependencies("elah-lease-pool").grep(/\A(magnus|rb-sys|elah-|tokio|heed)/)
    refute_found "crates/elah-lease-pool/src/**/*.rs", /\bunsafe\b|\bstd::(fs|net|thread|time|env)\b/,
                 "lease pools do no I/O, and have no clock"
  end

  def test_a_clusters_state_machine_does_no_io
    assert_empty dependencies("elah-cluster")
    refute_found "crates/elah-cluster/src/**/*.rs", /\bunsafe\b(?!_code)|\bstd::(fs|net|thread|time|env|io|process)\b/,
                 "what happens and when comes from the driver"
  end

  def test_the_core_never_knows_an_app
    refute_found "#{CORE}/src/**/*.rs", /\b(leaderboard|ring_?pool|phone_number|short_?code|shortener|lockout)/i,
                 "the core knows lease pools and sorted sets, not what an app makes of them"
  end

  def test_the_core_never_shows_hyper_or_tokio
    refute_found "#{CORE}/src/**/*.rs", /^\s*pub (?!\(|mod).*\b(hyper|tokio|hyper_util|http_body)::/,
                 "types of hyper and tokio stay out of the core's public API", except: %w[loop/src/task.rs]
  end

  def test_the_core_is_safe_but_for_named_files
    refute_found "#{CORE}/src/**/*.rs", /\bunsafe\b(?!_code)/, "unsafe has a place", except: UNSAFE_FILES
  end

  def test_the_binding_never_decides
    refute_found "ext/elah/src/**/*.rs", /Duration::from_\w+\(\d|tokio::time|\bretr(y|ies)\b/,
                 "timeouts and retries are the core's or the library's"
  end

  # A raise that jumps over Rust frames skips their drops. `ruby/raising.rs` asks for the proof that it is caught; the
  # compiler does the rest.
  def test_the_binding_calls_what_may_raise_with_a_proof_alone
    code = code_lines("ext/elah/src/**/*.rs").reject { |file, _, _| file.end_with?("ruby/raising.rs") }
    found = code.flat_map do |file, number, text|
      names = text.scan(/\brb_sys::((?:rb|ruby)_[a-z0-9_]+)\(/).flatten - CALLS_THAT_NEVER_RAISE
      names.map { |name| "#{file}:#{number}: #{name}" }
    end
    assert_empty found, "call it by ruby/raising.rs"
    refute_found "ext/elah/src/**/*.rs", /\brb_sys::(\{[^}]*)?\bprotect\b/, "ruby/raising.rs hands out the proof",
                 except: %w[ruby/raising.rs]
  end

  def test_the_library_never_loads_a_framework_or_an_app
    script = <<~RUBY
      require "elah"
      load_all = lambda do |space|
        space.constants.each do |name|
          value = space.const_get(name)
          load_all.(value) if value.is_a?(Module) && value.name.start_with?(space.name + "::")
        end
      end
      load_all.(Elah)
      puts $LOADED_FEATURES
    RUBY
    features, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", script, chdir: ROOT)
    assert_predicate status, :success?, features
    assert_includes features, "/elah/config.rb", "the autoloads were followed"
    others = %r{/(active_support|action\w+|active_record|rails|sinatra|grape)[/.]|/(apps|lab)/}
    assert_empty features.lines.grep_v(%r{/lib/elah/}).grep(others)
  end

  def test_the_library_never_names_an_app_or_the_lab
    refute_found "lib/**/*.rb", %r{\b(apps|lab)/|\bLinks\b}, "the library knows no app"
    refute_found "lib/**/*.rb", %r{\brequire\S* .*\bpackage/}, "the library does not know how it is packed"
    refute_found "lib/**/*.rb", /ActiveSupport|ActionDispatch/, "frameworks are the adapters' affair", except: ADAPTERS
  end

  def test_the_environment_is_read_in_one_place
    refute_found "lib/**/*.rb", /\bENV\b(?<!env: ENV)(?<!env = ENV)/, "only lib/elah/options reads the environment",
                 except: %w[lib/elah/config/options/environment.rb]
    refute_found "{#{CORE},ext/elah}/src/**/*.rs", /env::var/, "Rust gets complete structs"
  end

  def test_deadlines_are_monotonic
    refute_found "lib/**/*.rb", /Time\.now|CLOCK_REALTIME|Date\.today/, "the time of day is for the log",
                 except: WALL_CLOCK_FILES
    refute_found "{#{CORE},ext/elah}/src/**/*.rs", /SystemTime/, "the time of day is the clock's",
                 except: WALL_CLOCK_FILES
  end

  # A submission once failed with "Digest::Base cannot be directly inherited": two threads were the first to name a
  # digest, which "digest" loads by const_missing.
  def test_threads_load_files_that_have_an_autoload_by_their_constants_alone
    autoloads = File.read("#{ROOT}/lib/elah.rb").scan(/autoload :\w+, "(.+)"/).flatten
    wrong = Dir["#{ROOT}/lib/elah/{clients,collections,concurrency,entity,sink,store}/**/*.rb"].flat_map do |file|
      required = File.read(file).scan(/require_relative "(.+)"/).flatten
      required.map! { |path| File.expand_path(path, File.dirname(file)).delete_prefix("#{ROOT}/lib/") }
      (required & autoloads).map { |path| "#{file} requires #{path}" }
    end
    assert_empty wrong, "on Ruby 3.1 the threads of both would wait for each other"
  end

  def test_digests_are_loaded_before_threads_name_them
    refute_found "{lib,apps}/**/*.rb", /require "digest"/, "digest/sha1 and digest/sha2 are there once they are loaded"
  end

  def test_apps_use_the_public_api_alone
    refute_found "apps/*/**/*.rb", %r{
      require(_relative)?\s*\(?["'](elah/(?!api["'])|.*/lib/elah) |
      Elah::(EventLoop|Worker|Scheduler|Request|ResponseStream)\b |
      \blab/
    }x, "an app stands on what a user has"
  end

  def test_the_cores_limits_are_the_tables
    fields = File.read(File.join(ROOT, "crates/elah-http/src/limits.rs")).scan(/^    pub (\w+):/).flatten
    fields.map! { |name| name.sub(/_ms\z/, "_seconds") }
    assert_equal Elah::Options.all.select(&:limit).map { |option| option.name.to_s }.sort, fields.sort
  end

  def test_every_option_is_used
    code = code_lines("{lib,apps}/**/*.rb").reject { |file, _, _| file.end_with?("lib/elah/config/options.rb") }
    used = code.map(&:last).join
    unused = Elah::Options.all.reject { |option| option.limit || used.match?(/\b#{option.name}\b/) }
    assert_empty unused.map(&:name), "an option that nothing reads is a promise that nothing keeps"
  end

  def test_every_error_descends_from_one
    spaces = [Elah]
    errors = []
    while (space = spaces.shift)
      # Its own: a class inside its superclass would be found in itself for ever.
      inner = space.constants(false).map { |name| space.const_get(name) }
      inner.select! { |value| value.is_a?(Module) && value.name.start_with?("Elah::") }
      errors.concat(inner.select { |value| value <= Exception })
      spaces.concat(inner)
    end
    assert_operator errors.size, :>, 5
    assert_empty(errors.reject { |error| error <= Elah::Error || CONTROL_FLOW.include?(error.name) })
  end

  def test_the_lab_never_loads_what_it_measures
    refute_found "lab/{lib,workloads}/**/*.rb", %r{require(_relative)?\s*\(?["'].*(contenders/|\belah\b|\bapps/)},
                 "the lab meets servers over HTTP"
    refute_found "bench/**/*.rb", %r{\blab/}, "what both use is the benchmark's"
  end

  def test_files_open_with_what_they_own
    silent = Dir.chdir(ROOT) { Dir["{lib,apps,lab,test}/**/*.rb", "{crates,ext,lab}/**/*.rs"] }.reject do |file|
      opening = File.readlines(File.join(ROOT, file)).first(25).join
      file.end_with?(".rs") ? opening.match?(%r{^//!}) : opening.match?(/^\s*# [A-Z]/) || file.end_with?("_test.rb")
    end
    assert_empty silent
  end

  def test_files_stay_readable
    { "{lib,apps,lab,exe,test/support}/**/*.rb" => 300, "{crates,ext}/**/src/**/*.rs" => 500 }.each do |pattern, limit|
      long = lines(pattern).group_by(&:first).transform_values(&:size).select { |_, size| size > limit }
      assert_empty long, "more than #{limit} lines"
    end
  end

  # A variable that kept its old name was nil where it was read, in the one path that no test took.
  def test_instance_variables_that_are_read_are_set
    code = code_lines("lib/**/*.rb").map { |_, _, text| text.sub(/ # .*/, "") }.join
    accessors = code.scan(/attr_(?:writer|accessor) (.+)/).flat_map { |names,| names.scan(/\w+/) }
    unset = code.scan(/(?<![@\w])@(\w+)/).flatten.uniq.reject do |name|
      accessors.include?(name) || code.match?(/@#{name}\b(?:, @\w+)*\)?\s*(?:\|\||&&|[-+*|&]|<<)?=(?![=~>])/)
    end
    assert_empty unset - SET_ELSEWHERE
  end

  def test_names_say_what_a_file_does
    files = Dir.chdir(ROOT) { Dir["{lib,apps,lab,crates,ext,test}/**/*.{rb,rs}"] }
    vague = files.grep(/(\A|_|\b)(utils?|helpers?|misc|common|manager|base)(_|\.|\b)/)
    assert_equal ["test/test_helper.rb"], vague
  end

  def test_no_line_of_tests_is_longer_than_120_columns
    long = lines("{test,apps/*/test}/**/*.rb").select { |_, _, text| text.chomp.size > 120 }
    assert_empty(long.map { |file, number, text| "#{file}:#{number}: #{text.strip}" })
  end

  # Apps that sleep are strings in a test or files of test/support/apps; a test itself that sleeps waits for luck,
  # unless sleeping fibers are what it is about.
  def test_tests_never_sleep_to_wait
    about_sleep = %r{\Atest/(support/apps/|unit/scheduler(/locks|/timeouts|/wake_ups)?_test|unit/concurrency/)}
    tests = Dir.chdir(ROOT) { Dir["{test,apps/*/test}/**/*.rb"] }.grep_v(about_sleep)
    sleeping = tests.flat_map do |file|
      Ripper.lex(File.read(File.join(ROOT, file))).each_cons(2).filter_map do |(_, before), (position, type, token)|
        "#{file}:#{position.first}" if type == :on_ident && token == "sleep" && before != :on_period
      end
    end
    assert_empty sleeping
  end
end
