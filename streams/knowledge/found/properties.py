"""The types of schema.org that are entities, and the properties that are facts, in their order.

A type that is not listed is no entity: articles, questions and web pages are texts about something.
"""

from types import MappingProxyType

Facts = tuple[tuple[str, str], ...]
"""Properties with their labels."""

_PERSON: Facts = (
    ("birthDate", "Born"), ("birthPlace", "Place of birth"), ("deathDate", "Died"), ("deathPlace", "Place of death"),
    ("jobTitle", "Occupation"), ("hasOccupation", "Occupation"), ("worksFor", "Employer"),
    ("affiliation", "Affiliation"), ("alumniOf", "Educated at"), ("nationality", "Citizenship"), ("award", "Awards"),
)  # fmt: skip
_ORGANIZATION: Facts = (
    ("foundingDate", "Founded"), ("founder", "Founded by"), ("dissolutionDate", "Dissolved"), ("address", "Address"),
    ("location", "Location"), ("parentOrganization", "Part of"), ("numberOfEmployees", "Employees"),
    ("areaServed", "Area served"), ("openingHours", "Opening hours"), ("telephone", "Telephone"), ("award", "Awards"),
)  # fmt: skip
_PLACE: Facts = (
    ("address", "Address"), ("containedInPlace", "Located in"), ("openingHours", "Opening hours"),
    ("maximumAttendeeCapacity", "Capacity"), ("telephone", "Telephone"),
)  # fmt: skip
_PRODUCT: Facts = (
    ("brand", "Brand"), ("manufacturer", "Manufacturer"), ("model", "Model"), ("category", "Category"),
    ("releaseDate", "Released"), ("material", "Material"), ("weight", "Weight"),
)  # fmt: skip
_SOFTWARE: Facts = (
    ("applicationCategory", "Category"), ("operatingSystem", "Operating system"), ("softwareVersion", "Version"),
    ("programmingLanguage", "Written in"), ("author", "Author"), ("creator", "Author"), ("publisher", "Publisher"),
    ("datePublished", "Published"), ("license", "Licence"),
)  # fmt: skip
_WORK: Facts = (
    ("author", "Author"), ("creator", "Author"), ("director", "Director"), ("byArtist", "Artist"), ("actor", "Cast"),
    ("datePublished", "Published"), ("dateCreated", "Made"), ("publisher", "Publisher"),
    ("productionCompany", "Production"), ("genre", "Genre"), ("inLanguage", "Language"),
    ("numberOfPages", "Pages"), ("isbn", "ISBN"), ("numberOfSeasons", "Seasons"), ("license", "Licence"),
)  # fmt: skip
_EVENT: Facts = (
    ("startDate", "Begins"), ("endDate", "Ends"), ("location", "Place"), ("organizer", "Organizer"),
    ("performer", "Performers"),
)  # fmt: skip
_GROUPS: tuple[tuple[str, Facts, str], ...] = (
    ("person", _PERSON, "Person"),
    (
        "organization",
        _ORGANIZATION,
        "Organization Corporation NGO Airline Library LocalBusiness CollegeOrUniversity School HighSchool "
        "EducationalOrganization GovernmentOrganization NewsMediaOrganization MedicalOrganization Hospital "
        "MusicGroup SportsTeam SportsOrganization PerformingGroup ResearchOrganization Store Restaurant Hotel "
        "Project ResearchProject OnlineBusiness OnlineStore",
    ),
    (
        "place",
        _PLACE,
        "Place City Country State AdministrativeArea Museum Park Airport Bridge Church Mosque Synagogue "
        "TouristAttraction LandmarksOrHistoricalBuildings LandmarkOrHistoricalBuilding Mountain LakeBodyOfWater "
        "RiverBodyOfWater BodyOfWater StadiumOrArena CivicStructure Zoo Aquarium",
    ),
    ("product", _PRODUCT, "Product ProductModel IndividualProduct Vehicle Car"),
    (
        "software",
        _SOFTWARE,
        "SoftwareApplication MobileApplication WebApplication VideoGame SoftwareSourceCode ComputerLanguage",
    ),
    ("work", _WORK, "Book Movie TVSeries MusicAlbum MusicRecording Painting Sculpture Dataset Periodical Game"),
    ("event", _EVENT, "Event Festival MusicEvent SportsEvent BusinessEvent EducationEvent ExhibitionEvent"),
)
GROUPS = MappingProxyType({name: (group, facts) for group, facts, names in _GROUPS for name in names.split()})
"""The group of each type, and its facts."""
DATES = frozenset(
    {"birthDate", "deathDate", "foundingDate", "dissolutionDate", "releaseDate", "datePublished", "dateCreated"}
    | {"startDate", "endDate"}
)
