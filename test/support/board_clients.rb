# frozen_string_literal: true

require_relative "cluster_clients"

# Clients of apps/leaderboards on a cluster, which submit scores and read ranks. The history of a board is checked as
# that of an object; of a board in parts, whose parts are asked on their own, that of each member as a register.
class BoardClients < ClusterClients
  APP = File.expand_path("../../apps/leaderboards/app.rb", __dir__)
  SETTINGS = { leaderboards_deadline_ms: 20_000 }.freeze
  BOARDS = 4
  PARTS = 2
  MEMBERS = %w[ann bob cid dan].freeze
  # No two submissions have the same score, and the later one may be the lower one.
  SCORES = 1_000_003
  NOBODY = { "member_not_found" => {} }.freeze

  # A request under an Idempotency-Key whose fate is unknown, and its calls.
  Open = Struct.new(:path, :body, :headers, :calls)

  def initialize(cluster, each)
    @history = History.new(:board)
    @open = []
    super do
      path = "/games/#{make('/games', name: 'Karts')}/leaderboards"
      fields = { name: "Points", operator: "set", ties: "member" }
      @boards = Array.new(BOARDS) { make(path, **fields) }
      @divided = make(path, **fields, parts: PARTS)
    end
  end

  # Repeats the requests of unknown fate, and reads all boards at all servers.
  def read_all
    @open.each do |open|
      result = until_known("#{open.path} is known") { post(0, open) }
      @history.settle(open.calls, outputs(result))
    end
    @cluster.servers.each_index do |place|
      client = @count + place
      @boards.each { |board| until_known("board #{board} is known") { top(client, place, board) } }
      MEMBERS.each { |member| until_known("#{member} is known") { show(client, place, @divided, member) } }
    end
  end

  # @return [String, nil] what is wrong with the history
  def violation = super || disorder

  # The history without the submissions of unknown fate whose score nobody has seen: whoever changes a score is told
  # which one was there.
  #
  # @return [History]
  def settled
    seen = @history.calls.flat_map { |call| scores(call) }.to_h { |score| [score, true] }
    is_seen = ->(call) { seen[call.input.values_at(:member, :value)] }
    History.new(:board, @history.calls.select { |call| call.end || is_seen.call(call) })
  end

  private

  def scores(call)
    output = call.output or return []
    rows = output[:members].to_a.map { |row| row.values_at("member", "score") }
    rows + output.values_at(:score, :previous_score).map { |score| [call.input[:member], score] }
  end

  # @return [String, nil] where the list of the board in parts has other members than its parts, or another order
  def disorder
    @cluster.servers.each_index do |place|
      found = until_known("the list is known") { request(place, "GET", "/leaderboards/#{@divided}/top") }["members"]
      expected = MEMBERS.filter_map { |member| shown(place, member) }.sort_by { |row| [-row["score"], row["member"]] }
      expected.each_with_index { |row, index| row["rank"] = index + 1 }
      return "the board in parts is #{found} at #{place}, and not #{expected}" unless found == expected
    end
    nil
  end

  def shown(place, member)
    row = until_known("#{member} is known") { request(place, "GET", path(@divided, member), answers: NOBODY) }
    row.slice("rank", "member", "score") if row["score"]
  end

  def path(board, member) = "/leaderboards/#{board}/members/#{member}"

  def step(client, place, random)
    board = [*@boards, @divided].sample(random: random)
    member = MEMBERS.sample(random: random)
    case random.rand
    when 0..0.2 then [show(client, place, board, member), false]
    when 0.2..0.35 then [top(client, place, @boards.sample(random: random)), false]
    when 0.35..0.5 then [increment(client, place, @boards.sample(random: random), member), true]
    when 0.5..0.65 then [submit_together(client, place, @boards.sample(2, random: random), member), true]
    else [set(client, place, board, member), true]
    end
  end

  def new_score = @history.new_number * 7919 % SCORES

  def set(client, place, board, member)
    score = new_score
    @history.record(client, key(board, member), :set, member: member, value: score) do
      output(request(place, "PUT", path(board, member), body: { score: score, operator: "set" }), board)
    end
  end

  def increment(client, place, board, member)
    calls = [[client, board, :increment, { member: member, value: 1 }]]
    once(place, "#{path(board, member)}/increments", { by: 1 }, calls)
  end

  # The same score on two boards, all or nothing.
  def submit_together(client, place, boards, member)
    score = new_score
    submissions = boards.map { |board| { leaderboard: board, member: member, score: score, operator: "max" } }
    calls = boards.map { |board| [client, board, :max, { member: member, value: score }] }
    once(place, "/submissions", { submissions: submissions }, calls)
  end

  # A request that may be repeated until it is known.
  def once(place, path, body, calls)
    key = "key-#{@history.new_number}"
    @history.record_all(calls) do |noted|
      open = Open.new(path, body, { "Idempotency-Key" => key }, noted)
      result = post(place, open)
      @lock.synchronize { @open << open } if result == :unknown
      result.is_a?(Hash) ? outputs(result) : result
    end
  end

  # What was decided may be done later, although the owner of one board was not found.
  def post(place, open)
    request(place, "POST", open.path, body: open.body, headers: open.headers, answers: { "entity_moving" => :unknown })
  end

  def outputs(result) = (result["submissions"] || [result]).map { |one| output(one) }

  def show(client, place, board, member)
    @history.record(client, key(board, member), :show, member: member) do
      output(request(place, "GET", path(board, member), answers: NOBODY), board)
    end
  end

  def top(client, place, board)
    @history.record(client, board, :top) do
      result = request(place, "GET", "/leaderboards/#{board}/top")
      result.is_a?(Hash) ? { members: result["members"].map { |row| row.slice("member", "score", "rank") } } : result
    end
  end

  def key(board, member) = board == @divided ? "#{board}/#{member}" : board

  def output(result, board = nil)
    return result unless result.is_a?(Hash)

    result.transform_keys(&:to_sym).slice(:score, :previous_score, *(%i[rank previous_rank] unless board == @divided))
  end
end
