# frozen_string_literal: true

require "test_helper"
require "support/entity_case"
require "support/file_placement"

# Entities against a model under random histories: calls of two owners on one store, of which the one that the placement
# does not name goes on as if it did; exceptions, evictions, full restarts. Whatever was answered is true, and nothing
# else is.
class EntityModelTest < EntityCase
  STEPS = 150
  KEYS = %w[1 2 3 4].freeze

  # One owner in this process: a collection of its own, as another process has it.
  class Owner
    def initialize(entity_class, store)
      @entity_class = entity_class
      @store = store
      restart
    end

    # Begins anew, as a process that was killed does, with epochs of its own.
    def restart
      Elah::Entity::Epochs.reset_all
      @collection = Elah::Entity::Collection.new(@entity_class, @store)
      @collection["1"].balance
    end

    attr_reader :collection
  end

  def setup
    super
    Elah.config = Elah::Config.build(entities_max: 2)
    entity_class = Class.new(Account) { entity_name "modelled" }
    @owners = Array.new(2) { Owner.new(entity_class, @store) }
    @model = Hash.new(0)
    @rows = []
  end

  def teardown
    Elah.config = Elah::Config.build
    super
  end

  3.times do |round|
    define_method("test_random_history_#{round}") do
      seed = Random.new_seed
      random = Random.new(seed)
      Elah.run { STEPS.times { step(random) } }
      @owners[0].restart
      KEYS.each { |key| assert_equal @model[key], @owners[0].collection[key].balance, "seed #{seed}" }
      assert_equal @rows.uniq.sort, @owners[0].collection.index(:history).range.map(&:first).sort, "seed #{seed}"
    end
  end

  private

  def step(random)
    owner = @owners[random.rand(2)]
    case random.rand(10)
    when 0 then owner.restart
    when 1 then fail_in(owner, KEYS.sample(random: random))
    when 2, 3 then many(owner, Array.new(random.rand(1..6)) { [KEYS.sample(random: random), random.rand(-20..50)] })
    else change(owner, KEYS.sample(random: random), random.rand(-20..50))
    end
  end

  def change(owner, key, amount)
    @model[key] += amount
    assert_equal @model[key], owner.collection[key].deposit(amount)
    @rows << "#{key} #{@model[key]}"
  end

  def fail_in(owner, key)
    assert_raises(RuntimeError) { owner.collection[key].break }
  end

  # A call that met the other owner's claim is made again when the others have been made.
  def many(owner, changes)
    answers = owner.collection.call_many(changes.map { |key, amount| [key, :deposit, amount] })
    assert_empty answers.grep(Exception)
    changes.zip(answers) do |(key, amount), balance|
      @model[key] += amount
      @rows << "#{key} #{balance}"
    end
    changes.map(&:first).uniq.each { |key| assert_equal @model[key], owner.collection[key].balance }
  end
end
