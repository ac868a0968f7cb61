# frozen_string_literal: true

# The application of bench/links: counts in entities that live in memory alone. Each worker answers `local` by an entity of its own, and `remote` by
# one of the other worker.

class Count < Elah::Entity
  durability :memory

  def restore = @count = 0

  def add(amount) = @count += amount
end

COUNTS = Count.in(Elah::Store.open(Elah.config.data))
ROWS = 40

# Keys by the worker that owns them.
module Keys
  def self.own = all[0]

  def self.others = all[1]

  def self.all
    placement = Elah::Placement.current
    @all ||= Array.new(1000, &:to_s).partition { |key| placement.owner_of(Elah::Shards.of(key, placement.shards)) == placement.slot }
  end
end

class Counting < Elah::API
  format :json

  helpers do
    def gathered(keys)
      { counts: Elah.gather(deadline: 5) { |g| keys.first(ROWS).each { |key| g.call(key, COUNTS[key].deferred.add(1)) } }.values }
    end
  end

  get(:local) { { count: COUNTS[Keys.own.first].add(1) } }
  get(:remote) { { count: COUNTS[Keys.others.first].add(1) } }
  get(:local_rows) { gathered(Keys.own) }
  get(:remote_rows) { gathered(Keys.others) }
end

run Counting
