# frozen_string_literal: true

# The configuration of bench/apps/peers.rb.
before_worker_boot { Peers.open }
