# frozen_string_literal: true

require_relative "../test_helper"
require "bigdecimal"
require "support/servers"

# The operations of Elah::Mongo on mongo-java-server.
class MongoTest < Minitest::Test
  Mongo = Elah::Mongo

  def self.mongo = @mongo ||= Mongo.new(Servers::MongoJavaServer.shared.url)

  def setup
    @mongo = self.class.mongo
    @items = @mongo["items"]
    @items.drop
  end

  def test_documents_are_inserted_and_found
    id = @items.insert_one({ name: "sling", price: BigDecimal("1.50"), tags: %i[a b] })
    assert_instance_of Mongo::ObjectId, id
    assert_equal({ "_id" => id, "name" => "sling", "price" => BigDecimal("1.5"), "tags" => %w[a b] },
                 @items.find_one({ name: "sling" }))
    assert_nil @items.find_one({ name: "stone" })
    assert_equal [7, "x"], @items.insert_many([{ _id: 7 }, { "_id" => "x" }])
    assert_equal [], @items.insert_many([])
    assert_equal({ "name" => "sling" }, @items.find_one({ _id: id }, projection: { _id: 0, name: 1 }))
  end

  def test_a_query_is_walked_batch_by_batch
    @items.insert_many(Array.new(250) { |number| { _id: number, group: number % 5 } })
    batches = []
    @items.find({}, batch_size: 100, sort: { _id: 1 }).each_batch { |documents| batches << documents.size }
    assert_equal [100, 100, 50], batches
    assert_equal [248, 243], @items.find({ group: 3 }, sort: { _id: -1 }, limit: 2).map { |document| document["_id"] }
    assert_equal [238],
                 @items.find({ group: 3 }, sort: { _id: -1 }, skip: 2, limit: 1).map { |document| document["_id"] }
    assert_equal (0...250).to_a,
                 @items.find({}, batch_size: 7, sort: { _id: 1 }).to_a.map { |document| document["_id"] }
    assert_equal [0, 1], @items.find({}, batch_size: 2, sort: { _id: 1 }).first(2).map { |document| document["_id"] }
    assert_equal [], @items.find({ group: 9 }).to_a
    assert_equal [0, 5],
                 @items.find({ group: 0 }, sort: { _id: 1 }).each.lazy.map { |document| document["_id"] }.first(2)
  end

  def test_aggregation_and_counts
    @items.insert_many(Array.new(30) { |number| { n: number, group: number % 3 } })
    sums = @items.aggregate([{ "$group" => { _id: "$group", sum: { "$sum" => "$n" } } }, { "$sort" => { _id: 1 } }])
    assert_equal [{ "_id" => 0, "sum" => 135 }, { "_id" => 1, "sum" => 145 }, { "_id" => 2, "sum" => 155 }], sums.to_a
    assert_equal [30, 10, 4, 0], [@items.count, @items.count({ group: 1 }),
                                  @items.count({ group: 1 }, skip: 6), @items.count({ n: -1 })]
    low = @items.aggregate([{ "$match" => { n: { "$lt" => 3 } } }], batch_size: 1)
    assert_equal [1, 2, 3].sort, low.map { |one| one["n"] + 1 }.sort
  end

  def test_updates
    @items.insert_many([{ _id: 1, n: 1 }, { _id: 2, n: 1 }])
    assert_equal [1, 1, nil], @items.update_one({ _id: 1 }, { "$inc" => { n: 4 } }).to_a
    assert_equal [2, 2, nil], @items.update_many({}, { "$set" => { seen: true } }).to_a
    assert_equal [0, 0, 3], @items.update_one({ _id: 3 }, { "$set" => { n: 9 } }, upsert: true).to_a
    assert_equal [1, 1, nil], @items.replace_one({ _id: 3 }, { n: 10 }).to_a
    assert_equal [{ "_id" => 1, "n" => 5, "seen" => true },
                  { "_id" => 2, "n" => 1, "seen" => true },
                  { "_id" => 3, "n" => 10 }],
                 @items.find({}, sort: { _id: 1 }).to_a
  end

  def test_finding_and_changing_are_one_step
    @items.insert_one({ _id: 1, n: 1 })
    assert_equal 1, @items.find_one_and_update({ _id: 1 }, { "$inc" => { n: 1 } })["n"]
    assert_equal 3, @items.find_one_and_update({ _id: 1 }, { "$inc" => { n: 1 } }, returns: :after)["n"]
    assert_nil @items.find_one_and_update({ _id: 1, n: { "$lt" => 3 } }, { "$inc" => { n: 1 } })
    assert_equal({ "_id" => 1, "x" => 1 }, @items.find_one_and_replace({ _id: 1 }, { x: 1 }, returns: :after))
    assert_equal({ "_id" => 1, "x" => 1 }, @items.find_one_and_delete({ _id: 1 }))
    assert_nil @items.find_one_and_delete({ _id: 1 })
    assert_raises(ArgumentError) { @items.find_one_and_update({}, {}, returns: :new) }
    @items.insert_one({ _id: 2 })
    # It deleted the document.
    assert_raises(TypeError) { @items.find_one_and_update({ _id: 2 }, nil) }
    assert_raises(TypeError) { @items.find_one_and_replace({ _id: 2 }, nil) }
    assert_equal({ "_id" => 2 }, @items.find_one_and_delete({ _id: 2 }))
  end

  def test_deletions
    @items.insert_many(Array.new(5) { |number| { n: number % 2 } })
    assert_equal [1, 2, 0], [@items.delete_one({ n: 0 }), @items.delete_many({ n: 0 }), @items.delete_one({ n: 0 })]
    assert_equal 2, @items.count
  end

  def test_unique_indexes_are_kept
    assert_equal "name_1", @items.create_index({ name: 1 }, unique: true)
    assert_equal %w[a_1_b_-1 c], @items.create_indexes([{ keys: { a: 1, b: -1 } }, { keys: { c: 1 }, name: "c" }])
    @items.insert_one({ name: "sling" })
    error = assert_raises(Mongo::DuplicateKey) { @items.insert_one({ name: "sling" }) }
    assert_equal 11_000, error.server_code
    assert_match(/\A127\.0\.0\.1:\d+ refused insert on test\.items with error 11000/, error.message)
    error = assert_raises(Mongo::DuplicateKey) do
      @items.insert_many([{ name: "a" }, { name: "sling" }, { name: "b" }, { name: "a" }], ordered: false)
    end
    assert_equal [[1, 11_000], [3, 11_000]], error.write_errors.map { |place, code, _| [place, code] }
    assert_equal 3, @items.count
    assert_raises(Mongo::DuplicateKey) { @items.update_one({ name: "a" }, { "$set" => { name: "b" } }) }
    assert_raises(Mongo::DuplicateKey) { @items.find_one_and_update({ name: "a" }, { "$set" => { name: "b" } }) }
  end

  def test_bulk_writes
    result = @items.bulk_write do |bulk|
      bulk.insert_one({ _id: 1 }).insert_one({ _id: 2 }).update_one({ _id: 1 }, { "$set" => { n: 1 } })
          .update_many({}, { "$set" => { m: 1 } })
          .update_one({ _id: 9 }, { "$set" => { n: 1 } }, upsert: true)
          .delete_one({ _id: 2 })
    end
    assert_equal({ inserted: 2, matched: 3, modified: 3, deleted: 1, upserted: 1 }, result.to_h)
    assert_equal [1, 9], @items.find({}, sort: { _id: 1 }).map { |document| document["_id"] }
  end

  # The server replaces a document by an update without operators: all of its other fields were lost.
  def test_a_bulk_write_does_not_take_an_update_for_a_replacement
    @items.insert_one({ _id: 1, name: "a", stock: 5 })
    [{ name: "b" }, {}, nil].each do |update|
      %i[update_one update_many].each do |kind|
        error = assert_raises(Mongo::InvalidValue) do
          @items.bulk_write { |bulk| bulk.insert_one({ _id: 2 }).public_send(kind, { _id: 1 }, update) }
        end
        assert_match(/cannot be sent: in write 1, counted from 0, an update has operators/, error.message)
      end
    end
    [{ "$set" => { name: "b" } }, [{ "$set" => { name: "b" } }]].each do |document|
      error = assert_raises(Mongo::InvalidValue) { @items.bulk_write { |bulk| bulk.replace_one({ _id: 1 }, document) } }
      assert_match(/a replacement is a document without operators/, error.message)
    end
    assert_equal [{ "_id" => 1, "name" => "a", "stock" => 5 }], @items.find.to_a
    result = @items.bulk_write do |bulk|
      bulk.update_one({ _id: 1 }, { "$set" => { name: "b" } }).replace_one({ _id: 1 }, { name: "c" })
          .replace_one({ _id: 2 }, {}, upsert: true)
    end
    assert_equal({ inserted: 0, matched: 2, modified: 2, deleted: 0, upserted: 1 }, result.to_h)
    assert_equal [{ "_id" => 1, "name" => "c" }, { "_id" => 2 }], @items.find({}, sort: { _id: 1 }).to_a
    assert_raises(TypeError) { @items.replace_one({ _id: 1 }, [{ "$set" => { name: "b" } }]) }
  end

  # It was left out: a pipeline without its filter returned everybody's documents.
  def test_a_stage_that_is_no_document_is_refused
    @items.insert_many([{ tenant: 1 }, { tenant: 2 }])
    [nil, ["$match", { tenant: 1 }], "x"].each do |stage|
      pipeline = [{ "$set" => { seen: true } }, stage]
      [-> { @items.aggregate(pipeline).to_a }, -> { @items.update_many({}, pipeline) },
       -> { @items.find_one_and_update({}, pipeline) }].each do |call|
        error = assert_raises(Mongo::InvalidValue, &call)
        assert_match(/cannot be sent: stage 1 of the pipeline, counted from 0, is not a document/, error.message)
      end
    end
    assert_equal 0, @items.count({ seen: true })
  end

  def test_a_bulk_write_says_what_failed
    writes = ->(bulk) { [1, 1, 2, 1].each { |id| bulk.insert_one({ _id: id }) } }
    error = assert_raises(Mongo::DuplicateKey) { @items.bulk_write(ordered: false, &writes) }
    assert_equal [[1, 2], [1, 3]],
                 [@items.find.map { |document| document["_id"] }.sort, error.write_errors.map(&:first)]
    @items.drop
    error = assert_raises(Mongo::DuplicateKey) { @items.bulk_write(&writes) }
    assert_equal [1, [1]], [@items.count, error.write_errors.map(&:first)]
  end

  def test_a_bulk_write_of_many_goes_in_several_commands
    assert_equal 2500, @items.bulk_write { |bulk| 2500.times { |number| bulk.insert_one({ _id: number }) } }.inserted
    assert_equal 2500, @items.count
  end

  def test_commands_and_refusals
    assert_equal({ "ok" => 1.0 }, @mongo.run_command({ ping: 1 }))
    error = assert_raises(Mongo::Refused) { @mongo.run_command({ nonsense: 1 }) }
    assert_equal [59, "CommandNotFound"], [error.server_code, error.server_code_name]
    @items.insert_one({ a: 1 })
    error = assert_raises(Mongo::Refused) { @items.find_one({ a: { "$nonsense" => 1 } }) }
    assert_match(/refused find on test\.items with error \d+.*nonsense/, error.message)
    assert_raises(Mongo::InvalidValue) { @items.update_one({}, { n: 1 }) }
    assert_raises(Mongo::InvalidValue) { @items.insert_one({ n: Object }) }
    assert_equal 1, @items.count
  end

  def test_names_and_options_are_checked
    ["", "$x", "a\0", ".a", "a$b", "x" * 256].each { |name| assert_raises(Mongo::InvalidValue) { @mongo[name] } }
    error = assert_raises(Elah::OptionError) { Mongo.new("mongodb://127.0.0.1/x", pool: 3) }
    assert_includes error.message, "Elah::Mongo has no option pool. Its options are database, connections_max"
    assert_raises(Elah::OptionError) { Mongo.new("http://127.0.0.1/x") }
    assert_raises(Elah::OptionError) { Mongo.new("mongodb://127.0.0.1") }
    assert_raises(Elah::OptionError) { Mongo.new("mongodb://127.0.0.1/x", tls_ca_file: "/nowhere") }
    [{ connections_max: 0 }, { connections_max: 1.5 }, { query_seconds: 0 }, { pool_seconds: -1 },
     { connect_seconds: "1" }].each do |options|
      error = assert_raises(Elah::OptionError) { Mongo.new("mongodb://127.0.0.1/x", **options) }
      assert_match(/\AElah::Mongo: #{options.keys.first} must be .* (above|from) 0, up to \d+, not /, error.message)
    end
    assert_equal "x", Mongo.new("mongodb://127.0.0.1", database: "x").database
    error = assert_raises(Elah::OptionError) { Mongo.new("mongodb://user:top%secret@127.0.0.1/x") }
    refute_match(/top|secret/, error.message)
    refute_includes Mongo.new("mongodb://user:topsecret@127.0.0.1/x").inspect, "secret"
  end

  def test_a_closed_client_says_so
    mongo = Mongo.new(Servers::MongoJavaServer.shared.url)
    mongo.run_command({ ping: 1 })
    mongo.close
    assert_raises(Mongo::Closed) { mongo.run_command({ ping: 1 }) }
    assert_predicate mongo, :closed?
  end

  def test_a_forked_process_has_connections_of_its_own
    @items.insert_one({ _id: 1 })
    reader, writer = IO.pipe
    pid = fork do
      writer.write(@items.find_one["_id"].to_s)
      writer.close
      exit!(0)
    end
    writer.close
    assert_equal "1", reader.read
    Process.wait(pid)
    assert_equal 1, @items.count
  end

  def test_tls_is_checked
    Servers::MongoJavaServer.start(tls: true) do |server|
      assert_equal({ "ok" => 1.0 }, Mongo.new(server.url, tls_ca_file: server.ca_file).run_command({ ping: 1 }))
      error = assert_raises(Elah::Unavailable) { Mongo.new(server.url, connect_seconds: 0.5).run_command({ ping: 1 }) }
      assert_includes error.message, "certificate"
    end
  end
end
