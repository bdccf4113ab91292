"""Settings in which all servers and the gateway have one port of this machine."""

from pathlib import Path

from streams.settings import CassandraSettings, GatewaySettings, KafkaSettings, QdrantSettings, Settings, TritonSettings


def at_port(port: int, home: Path) -> Settings:
    return Settings(
        home=home,
        kafka=KafkaSettings(bootstrap=f"127.0.0.1:{port}"),
        cassandra=CassandraSettings(hosts=("127.0.0.1",), port=port),
        qdrant=QdrantSettings(url=f"http://127.0.0.1:{port}"),
        triton=TritonSettings(url=f"127.0.0.1:{port}"),
        gateway=GatewaySettings(port=port),
    )
