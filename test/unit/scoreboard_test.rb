# frozen_string_literal: true

require "test_helper"
require "elah/server/status"
require "tmpdir"

class ScoreboardTest < Minitest::Test
  def with_board(slots_max: 4, rows: 8, shards: 16)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "scoreboard")
      yield Elah::Scoreboard.create(path, slots_max, rows, shards), path
    end
  end

  def test_cells_have_names
    with_board do |scoreboard, path|
      scoreboard.set_row(3, :pid, 42)
      scoreboard.set_state(3, :draining)
      scoreboard.set_slot(2, :generation, 43)
      scoreboard.assign(5, 2)
      other = Elah::Scoreboard.open(path)
      assert_equal [42, :draining, 43, 2, [4, 8, 16]],
                   [other.row(3)[:pid], other.state(3), other.slot(2)[:generation], other.owner_of(5), other.sizes]
    end
  end

  def test_what_does_not_exist_is_an_index_error
    with_board do |scoreboard|
      assert_raises(IndexError) { scoreboard.row_value(8, :pid) }
      assert_raises(IndexError) { scoreboard.set_slot(0, :colour, 1) }
      assert_raises(IndexError) { scoreboard.owner_of(16) }
    end
  end

  def test_a_file_that_is_no_board_is_refused
    Dir.mktmpdir do |folder|
      path = File.join(folder, "scoreboard")
      File.write(path, "x" * 10_000)
      error = assert_raises(Elah::RunDirError) { Elah::Scoreboard.open(path) }
      assert_match(/it is no scoreboard of this version of Elah\.\z/, error.message)
      assert_raises(Elah::RunDirError) { Elah::Scoreboard.create(path, 1, 1, 1) }
      assert_raises(Elah::RunDirError) { Elah::Scoreboard.open(File.join(folder, "none")) }
    end
  end

  def test_an_app_shows_numbers
    with_board do |scoreboard|
      assert scoreboard.publish(0, "entities", 5)
      assert_equal({ "entities" => 5 }, scoreboard.extras(0))
      refute scoreboard.publish(0, "x" * 24, 5)
    end
  end

  def test_the_sums_of_workers_that_have_gone_are_kept
    Dir.mktmpdir do |folder|
      table = Elah::Supervisor::Table.create(Elah::RunDir.new(folder), 16)
      table.divide(2)
      row = table.take_row(1, 99)
      table.scoreboard.set_row(row, :requests, 10)
      child = Struct.new(:slot, :row, :generation).new(1, row, 99)
      table.enter(child)
      version = table.scoreboard.server_value(:map_version)
      assert_equal [10, 99],
                   [Elah::Status.new(table.scoreboard).totals[:requests], table.scoreboard.slot_value(1, :generation)]
      table.leave(child)
      assert_equal [10, 0, :gone],
                   [Elah::Status.new(table.scoreboard).totals[:requests],
                    table.scoreboard.slot_value(1, :generation), table.scoreboard.state(row)]
      assert_operator table.scoreboard.server_value(:map_version), :>, version
    ensure
      Elah::Scoreboard.current = nil
    end
  end
end
