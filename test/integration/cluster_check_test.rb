# frozen_string_literal: true

require "test_helper"
require "support/bank_cluster"
require "support/cluster_certificates"
require "elah/cli"

# What `elah cluster check` and the log say of machines that cannot call each other.
class ClusterCheckTest < Minitest::Test
  include Patience

  PORTS = "23000-23999"

  def setup
    @folder = Dir.mktmpdir("elah-check")
    @certificates = ClusterCertificates.new(@folder)
  end

  def teardown = FileUtils.remove_entry(@folder)

  def test_machines_that_call_each_other_pass
    start(*%w[one two].map { |node| { cluster_node: node, cluster_tls: tls(node) } }) do |cluster|
      assert_empty check(cluster, "--cluster-node", "one", "--cluster-tls", tls("one"))
      assert_empty check(cluster)
      assert_match(/^The processes were not called: this needs the options cluster_node and cluster_tls/, @output)
    end
  end

  def test_a_machine_that_stands_still_or_trusts_another_authority_is_named
    stranger = ClusterCertificates.new(FileUtils.mkdir_p(File.join(@folder, "stranger")).first)
    options = { lease_seconds: 60 }
    start({ cluster_node: "one", cluster_tls: tls("one"), **options },
          { cluster_node: "two", cluster_tls: tls("two", stranger), **options }) do |cluster|
      of_one = ["--cluster-node", "one", "--cluster-tls", tls("one")]
      untrusted = one(check(cluster, *of_one))
      assert_match(%r{\Atls://two@127\.0\.0\.1:\d+/\d+ was called in vain: .*not accepted}, untrusted)
      cluster.servers[0].signal(:STOP)
      still = check(cluster, *of_one).grep(%r{\Atls://one@})
      cluster.servers[0].signal(:CONT)
      assert_match(/was called in vain: /, one(still))
    end
  end

  def test_machines_with_one_name_are_named_and_know_it
    start({ cluster_node: "same" }, { cluster_node: "same", cluster_listen: "127.0.0.2:#{PORTS}" }) do |cluster|
      assert_match(/\Asame is the name of several machines \(127\.0\.0\.\d, 127\.0\.0\.\d\)/, check(cluster)[0])
      cluster.servers.each { |server| server.wait_for(/Another machine \(tcp.*\) has the name same too/) }
    end
  end

  def test_a_script_beside_a_server_is_not_taken_for_another_machine
    start({ cluster_node: "same" }, { cluster_node: "same", cluster_listen: nil }) do |cluster|
      cluster.add(cluster_node: "same", cluster_listen: "127.0.0.2:#{PORTS}")
      cluster.servers[0].wait_for(/Another machine \(tcp.*\) has the name same too/)
      refute_match(/Another machine \(\)/, cluster.servers[0].log)
    end
  end

  def test_a_machine_that_others_cannot_call_is_named
    start({ cluster_node: "one", entity_moving_seconds: 0.1 },
          { cluster_node: "two", cluster_listen: nil }) do |cluster|
      assert_equal ["No other machine can call the processes of two: set cluster_listen there."], check(cluster)
      cluster.wait_until_spread(cluster.servers[0], 2)
      cluster.servers[0].wait_for(/Processes of two own shards, and other machines cannot call them/)
      assert_includes [*"a".."z"].map { |key| cluster.deposit(cluster.servers[0], key, 1) }, 503
      cluster.servers[0].wait_for(/The owner of shard \d+ has no address: set cluster_listen on its machine/)
    end
  end

  # The log said that the options had no effect.
  def test_a_store_that_a_hook_opens_is_on_the_cluster
    app = <<~RUBY
      url = Elah.config.state
      Elah::Config.at(:before_worker_boot) { Elah::Store.open(url) }
      run ->(_) { [200, {}, []] }
    RUBY
    AppCluster.start(app: app, servers: 1, cluster_node: "one", cluster_listen: "127.0.0.1:#{PORTS}") do |cluster|
      refute_match(/no effect/, cluster.servers[0].log)
    end
  end

  private

  def tls(node, certificates = @certificates)
    certificates.issue(node).map { |name, path| "#{name}=#{path}" }.join(",")
  end

  def start(*machines)
    BankCluster.start(servers: 0) do |cluster|
      machines.each { |options| cluster.add(**{ cluster_listen: "127.0.0.1:#{PORTS}" }.merge(options).compact) }
      ready = "SELECT count(*) FROM elah_writers WHERE ready AND NOT fenced"
      wait_until("both take part") { cluster.sql.value(ready) == 2 }
      yield cluster
    end
  end

  # The warnings, but those of the database and of shards that move.
  def check(cluster, *flags)
    out, err = StringIO.new, StringIO.new
    Elah::CLI.start(["cluster", "check", *flags, "--cluster", cluster.database.url], out: out, err: err)
    @output = out.string
    assert_match(/\Aelah: \d+ warnings?\.\Z/, err.string)
    @output.scan(/^warning  (.*)/).flatten.grep_v(/fsync|synchronous|no owner/)
  end

  def one(list)
    assert_equal 1, list.size, list.inspect
    list[0]
  end
end
