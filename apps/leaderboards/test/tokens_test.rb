# frozen_string_literal: true

require_relative "board_case"

# Write tokens: for whom they are valid, and how long.
class TokensTest < BoardCase
  def setup
    super
    @tokens = Leaderboards::Tokens.new("s" * 16, @clock)
    @board = create
    @token, @expires_at = @tokens.issue(@board, "ann", 60)
  end

  def refused(error, token, board = @board, member = "ann")
    assert_raises(error) { @tokens.check(token, board, member) }
  end

  def test_a_token_is_for_one_member_of_one_board
    assert_nil @tokens.check(@token, @board, "ann")
    refused(Leaderboards::InvalidToken, @token, @board, "bob")
    refused(Leaderboards::InvalidToken, @token, create)
    refused(Leaderboards::InvalidToken, Leaderboards::Tokens.new("t" * 16, @clock).issue(@board, "ann", 60).first)
  end

  def test_a_token_expires_and_cannot_be_prolonged
    refused(Leaderboards::InvalidToken, @token.sub(/\A\d+/) { |time| (time.to_i + 60).to_s })
    @clock.now = @expires_at - 1
    assert_nil @tokens.check(@token, @board, "ann")
    @clock.now = @expires_at
    refused(Leaderboards::ExpiredToken, @token)
  end

  def test_invalid_tokens_are_refused
    ["", "x", ".", "1.", "#{@token}x", @token[0..-2], "1.#{'ä' * 43}", "-1#{@token}"].each do |text|
      refused(Leaderboards::InvalidToken, text)
    end
  end

  def test_the_secret_is_not_shown = refute_includes(@tokens.inspect, "s" * 16)
end
