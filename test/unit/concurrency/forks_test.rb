# frozen_string_literal: true

require "test_helper"
require "open3"
require "tmpdir"

# Forks of a process that has no loop of its own.
class ForksTest < Minitest::Test
  LIB = File.expand_path("../../../lib", __dir__)

  # A method of an entity forks, and ends the child with `exit`.
  EXITING = <<~'RUBY'
    class Account < Elah::Entity
      def job = (child = fork) ? Process.wait2(child).last.exitstatus : exit(3)
      def mail = puts("mail")
    end
    accounts = Account.in(Elah::Store.open(ARGV[0], bytes_max: 1024**2))
    both = [["1", :job], ["2", :mail]]
    calls = {
      "call" => -> { [accounts["1"].job] },
      "call_many" => -> { accounts.call_many(both) },
      "gather" => lambda {
        Elah.gather { |g| both.each { |key, name| g.call(key, accounts[key].deferred.public_send(name)) } }.map(&:value)
      }
    }
    $stdout.sync = true
    ARGV[1] == "loop" ? Elah.run { p calls.fetch(ARGV[2]).call } : p(calls.fetch(ARGV[2]).call)
  RUBY

  # A child that ends with `exit` where fibers and time limits of its parent end with it.
  LEAVING = <<~'RUBY'
    class Account < Elah::Entity
      def job = (child = fork) ? Process.wait2(child).last.exitstatus : exit(3)
      def start = Elah.async { sleep } && job
      def limit = Elah.timeout(600) { job }

      def cancel
        fiber = Elah.async { sleep }
        job
      ensure
        fiber.cancel
      end

      def gather
        Elah.gather do |gather|
          gather.call(1) { sleep }
          throw(:status, job)
        end
      end
    end
    accounts = Account.in(Elah::Store.open(ARGV[0], bytes_max: 1024**2))
    p(Elah.run { %i[start limit cancel gather].map { |name| catch(:status) { accounts["1"].public_send(name) } } })
  RUBY

  SCRIPT = <<~'RUBY'
    class Account < Elah::Entity
      def balance = 3
    end
    accounts = Account.in(Elah::Store.open(ARGV[0], bytes_max: 1024**2))
    puts accounts["1"].balance
    child = fork { puts "child" }
    puts Process.wait2(child).last.exitstatus
  RUBY

  # The scheduler's class is loaded with the first loop. A script that had called an entity before it could not fork:
  # the child ended with NameError.
  def test_a_script_that_has_called_entities_and_run_no_loop_can_fork
    Dir.mktmpdir("elah-forks") do |dir|
      output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-relah", "-e", SCRIPT, dir)
      assert_equal "3\nchild\n0\n", output
      assert_predicate status, :success?
    end
  end

  # The exit was the outcome of the call, and the child went on as its parent. At the end of `Elah.run` it had status 1.
  def test_a_fork_in_a_method_of_an_entity_ends_there
    mail = { "call" => "", "call_many" => "mail\n", "gather" => "mail\n" }
    %w[loop none].product(mail.keys).each do |where, way|
      Dir.mktmpdir("elah-forks") do |dir|
        output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-relah", "-e", EXITING, dir, where, way)
        results = way == "call" ? "[3]" : "[3, nil]"
        assert_equal ["#{mail[way]}#{results}\n", 0], [output, status.exitstatus], "#{way}, #{where}"
      end
    end
  end

  # The loop is the parent's, and refused: its error replaced the exit, and the child ended with status 1.
  def test_a_fork_leaves_the_fibers_and_time_limits_of_its_parent_alone
    Dir.mktmpdir("elah-forks") do |dir|
      output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-relah", "-e", LEAVING, dir)
      assert_equal ["[3, 3, 3, 3]\n", 0], [output, status.exitstatus]
    end
  end
end
