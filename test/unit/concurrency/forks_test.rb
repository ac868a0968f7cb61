# frozen_string_literal: true

require "test_helper"
require "open3"
require "tmpdir"

# Forks of a process that has no loop of its own.
class ForksTest < Minitest::Test
  LIB = File.expand_path("../../../lib", __dir__)

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
end
