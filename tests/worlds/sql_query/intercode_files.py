"""Where InterCode's own files are, if they are, and a small folder like theirs."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

from piase_gym.worlds.sql_query.levels import intercode
from piase_gym.worlds.sql_query.levels.dataset import Dataset
from tests.paths import SHARED

FILES = Path(os.environ.get("INTERCODE_SQL", SHARED / "data" / "intercode_sql"))
needs_files = pytest.mark.skipif(
    not (FILES / "ic_spider_dev.json").exists(),
    reason="InterCode's files are not here (INTERCODE_SQL says where)",
)
needs_sqlglot = pytest.mark.skipif(
    importlib.util.find_spec("sqlglot") is None, reason="needs the extra sql"
)

DUMP = """
-- MySQL dump 10.13
CREATE USER 'admin'@'%' IDENTIFIED BY 'admin';
CREATE DATABASE IF NOT EXISTS `Shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
USE `Shop`;
/*!40101 SET @saved_cs_client = @@character_set_client */;
DROP TABLE IF EXISTS `Makers`;
CREATE TABLE `Makers` (
  `ID` int NOT NULL AUTO_INCREMENT,
  `Name` varchar(20) COLLATE utf8mb4_general_ci DEFAULT NULL,
  `Since` text COLLATE utf8mb4_general_ci,
  PRIMARY KEY (`ID`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
LOCK TABLES `Makers` WRITE;
INSERT INTO `Makers` VALUES (1,'Café; \\'Noir\\' ','900'),
(2,'cafe; \\'NOIR\\'','1950'),(3,NULL,'x');
UNLOCK TABLES;
CREATE TABLE `goods` (
  `Code` char(3) COLLATE utf8mb4_general_ci NOT NULL DEFAULT '',
  `Maker` int DEFAULT NULL,
  `Price` decimal(19,4) DEFAULT NULL,
  `Weight` double DEFAULT NULL,
  `Made` datetime DEFAULT NULL,
  `order` int NOT NULL DEFAULT '0',
  PRIMARY KEY (`Code`),
  UNIQUE KEY `one` (`order`),
  KEY `goods_FK` (`Maker`),
  CONSTRAINT `goods_FK` FOREIGN KEY (`Maker`) REFERENCES `Makers` (`ID`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `goods` VALUES ('a',1,-1.5000,2.5,'2018-03-10 00:03:21',1),
('b',2,3.0000,NULL,'2019-01-01 10:00:00',2);
"""
TASKS: list[dict[str, Any]] = [
    {"db": "Shop", "query": "How many goods are there?", "gold": "SELECT count(*) FROM goods"},
    {"db": "shop", "query": "Who?", "gold": "SELECT Name FROM Makers", "hardness": "easy"},
]


def write_files(folder: Path, dump: str = DUMP, tasks: object = TASKS) -> Path:
    """Write a folder such as InterCode's."""
    (folder / "ic_small_dev.json").write_text(json.dumps(tasks), "utf-8")
    (folder / "ic_small_dbs.sql").write_text(dump, "utf-8")
    return folder


@functools.cache
def original() -> Dataset:
    """Return InterCode's own tasks."""
    return intercode.load(FILES)
