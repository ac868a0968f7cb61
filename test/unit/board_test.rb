# frozen_string_literal: true

require "test_helper"
require "elah/status"
require "tmpdir"

class BoardTest < Minitest::Test
  def with_board(slots_max: 4, seats: 8, shards: 16)
    Dir.mktmpdir { |folder| yield Elah::Board.create(File.join(folder, "board"), slots_max, seats, shards), File.join(folder, "board") }
  end

  def test_cells_have_names
    with_board do |board, path|
      board.set_seat(3, :pid, 42)
      board.set_state(3, :draining)
      board.set_slot(2, :incarnation, 43)
      board.assign(5, 2)
      other = Elah::Board.open(path)
      assert_equal [42, :draining, 43, 2, [4, 8, 16]], [other.seat(3)[:pid], other.state(3), other.slot(2)[:incarnation], other.owner_of(5), other.sizes]
    end
  end

  def test_what_does_not_exist_is_an_index_error
    with_board do |board|
      assert_raises(IndexError) { board.seat_value(8, :pid) }
      assert_raises(IndexError) { board.set_slot(0, :colour, 1) }
      assert_raises(IndexError) { board.owner_of(16) }
    end
  end

  def test_a_file_that_is_no_board_is_refused
    Dir.mktmpdir do |folder|
      path = File.join(folder, "board")
      File.write(path, "x" * 10_000)
      assert_match(/it is no board of this version of Elah\.\z/, assert_raises(Elah::RunDirError) { Elah::Board.open(path) }.message)
      assert_raises(Elah::RunDirError) { Elah::Board.create(path, 1, 1, 1) }
      assert_raises(Elah::RunDirError) { Elah::Board.open(File.join(folder, "none")) }
    end
  end

  def test_an_app_shows_numbers
    with_board do |board|
      assert board.publish(0, "entities", 5)
      assert_equal({ "entities" => 5 }, board.extras(0))
      refute board.publish(0, "x" * 24, 5)
    end
  end

  def test_the_sums_of_workers_that_have_gone_are_kept
    Dir.mktmpdir do |folder|
      table = Elah::Supervisor::Table.create(Elah::RunDir.new(folder), 16)
      table.divide(2)
      seat = table.take_seat(1, 99)
      table.board.set_seat(seat, :requests, 10)
      child = Struct.new(:slot, :seat, :incarnation).new(1, seat, 99)
      table.enter(child)
      version = table.board.server_value(:map_version)
      assert_equal [10, 99], [Elah::Status.new(table.board).totals[:requests], table.board.slot_value(1, :incarnation)]
      table.leave(child)
      assert_equal [10, 0, :gone], [Elah::Status.new(table.board).totals[:requests], table.board.slot_value(1, :incarnation), table.board.state(seat)]
      assert_operator table.board.server_value(:map_version), :>, version
    ensure
      Elah::Board.current = nil
    end
  end
end
