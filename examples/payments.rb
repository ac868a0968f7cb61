# frozen_string_literal: true

require "securerandom"

# Payments that a client may repeat: the second request with an Idempotency-Key gets the first one's response.
#   elah serve --workers 2 examples/payments.rb
#   curl -X POST -H 'Idempotency-Key: 8e03978e' localhost:9292/accounts/42/payments/10
class Account < Elah::Entity
  def restore = @balance = state.get("balance").to_i

  attr_reader :balance

  def pay(amount)
    state.put("balance", (@balance += amount).to_s)
    { payment: SecureRandom.uuid, balance: @balance }
  end
end

class Payments < Elah::API
  ACCOUNTS = Account.in(Elah::Store.open(Elah.config.state))
  format :json
  error_format :problem
  get("accounts/:id") { { balance: ACCOUNTS[params[:id]].balance } }

  params { requires :amount, type: Integer, values: 1..1_000_000 }
  post("accounts/:id/payments/:amount") do
    ACCOUNTS[params[:id]].once(headers["Idempotency-Key"]).pay(params[:amount])
  end
end
run Payments
