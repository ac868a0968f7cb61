# frozen_string_literal: true

require "test_helper"
require "open3"
require "tempfile"
require "support/servers"

# Counts with strace how often a worker writes to Redis: what waits at one moment leaves together.
class RedisWritesTest < Minitest::Test
  ROUNDS = 20
  FIBERS = 100

  SCRIPT = <<~RUBY
    require "elah"
    redis = Elah::Redis.new(ARGV[0])
    found = 0
    Elah.run do
      redis.set("k", "v")
      $stderr.write("begin")
      #{ROUNDS}.times { #{FIBERS}.times.map { Fiber.schedule { found += 1 if redis.get("k") == "v" } }; redis.ping }
      $stderr.write("end")
    end
    puts found
  RUBY

  def test_the_commands_of_a_hundred_fibers_leave_in_a_write_or_two
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    Tempfile.create("strace") do |file|
      command = ["strace", "-f", "-e", "trace=write,writev,sendto,sendmsg,recvfrom,read", "-o", file.path,
                 RbConfig.ruby, "-Ilib", "-e", SCRIPT, Servers::Redis.shared.url]
      out, status = Open3.capture2(*command, err: File::NULL, chdir: File.expand_path("../..", __dir__))
      assert_predicate status, :success?
      assert_equal ROUNDS * FIBERS, out.to_i
      since_begin = file.readlines.slice_when { |line, _| line.include?('"begin"') }.to_a.last
      calls = since_begin.take_while { |line| !line.include?('"end"') }
      # A connection's own calls carry the protocol; the others wake threads.
      writes = calls.grep(/(sendto|write|writev)\(\d+, .*\*\d+\\r\\n\$/).size
      reads = calls.grep(/recvfrom\(\d+, "[+$]/).size
      assert_includes ROUNDS..(2 * ROUNDS), writes, "#{ROUNDS} times #{FIBERS} fibers took #{writes} writes"
      assert_operator reads, :<=, 6 * ROUNDS, "#{ROUNDS} times #{FIBERS} answers took #{reads} reads"
    end
  end
end
