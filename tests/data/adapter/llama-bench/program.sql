CREATE TABLE IF NOT EXISTS llama_bench (
  build_commit TEXT,
  build_number INTEGER
);

INSERT INTO llama_bench (build_commit, build_number) VALUES ('0a1b2c3d', '7001');
